//! The contract's types to those of this crate, and back.

use super::{
    approval::interface as approval,
    catalogue::interface as catalogue,
    common::damper::plugin::{clock, files, http, log, roster, sessions, state},
    configure,
    guard::interface as guard,
    message::interface as message,
    preset::interface as preset,
    review::interface as result,
    tool::interface as tool,
    types,
    welcome::interface as session,
};

/// Something of the contract that this crate has a type for.
pub trait Ours {
    /// This crate's type.
    type Ours;

    /// Returns it in this crate's type.
    fn ours(self) -> Self::Ours;
}

/// Something of this crate that the contract has a type for.
pub trait Theirs {
    /// The contract's type.
    type Theirs;

    /// Returns it in the contract's type.
    fn theirs(self) -> Self::Theirs;
}

macro_rules! same {
    ($($type:ty),*) => {
        $(
            impl Ours for $type {
                type Ours = Self;
                fn ours(self) -> Self {
                    self
                }
            }

            impl Theirs for $type {
                type Theirs = Self;
                fn theirs(self) -> Self {
                    self
                }
            }
        )*
    };
}

same!((), bool, u8, u16, u32, u64, i32, String);

macro_rules! nested {
    ($trait:ident, $translate:ident) => {
        impl<T: $trait> $trait for Option<T> {
            type $trait = Option<T::$trait>;
            fn $translate(self) -> Self::$trait {
                self.map(T::$translate)
            }
        }

        impl<T: $trait> $trait for Vec<T> {
            type $trait = Vec<T::$trait>;
            fn $translate(self) -> Self::$trait {
                self.into_iter().map(T::$translate).collect()
            }
        }

        impl<T: $trait, E: $trait> $trait for Result<T, E> {
            type $trait = Result<T::$trait, E::$trait>;
            fn $translate(self) -> Self::$trait {
                self.map(T::$translate).map_err(E::$translate)
            }
        }
    };
}

nested!(Ours, ours);
nested!(Theirs, theirs);

/// Translates records and variants that have the same names on both sides.
macro_rules! ours {
    ($($module:ident::$type:ident => $($ours:ident)::+ { $($field:ident),* })*) => {
        $(
            impl Ours for $module::$type {
                type Ours = crate::$($ours)::+;
                fn ours(self) -> Self::Ours {
                    crate::$($ours)::+ { $($field: self.$field.ours()),* }
                }
            }
        )*
    };
    ($($module:ident::$type:ident => $($ours:ident)::+ [ $($case:ident $(($held:ident))?),* ])*) => {
        $(
            impl Ours for $module::$type {
                type Ours = crate::$($ours)::+;
                fn ours(self) -> Self::Ours {
                    match self {
                        $(Self::$case $(($held))? => Self::Ours::$case $(($held.ours()))?,)*
                    }
                }
            }
        )*
    };
}

ours! {
    types::Command => Command { text, dialect }
    catalogue::ListedTool => ListedTool { name, source, effect }
    files::Metadata => files::Metadata { resolved, kind, size }
    files::Piece => files::Piece { bytes, size }
    http::Header => http::Header { name, value }
    http::Response => http::Response { status, headers, body }
    roster::Mode => roster::Mode { id, name, description, cannot_run }
    state::Entry => state::Entry { value, version }
}

ours! {
    types::Dialect => Dialect [Bash, Powershell, Cmd, Other(name)]
    types::ToolSource => ToolSource [Native, Plugin(row), Upstream(row), Agent]
    types::EffectClass => EffectClass [None, Idempotent, Once]
    types::ModeBinding => ModeBinding [None, Bound(id), Unknown]
    types::ApprovalPolicy => ApprovalPolicy [Ask, Never]
    types::Ending => Ending [Completed, Failed, TimedOut, Cancelled, Other(name)]
    clock::ClockError => clock::ClockError [NotGranted]
    files::FileKind => files::FileKind [File, Directory, Other]
    files::FileError => files::FileError [NotGranted, NotFound, InvalidPath(why), Failed(how)]
    http::HttpError => http::HttpError [
        NotGranted(host), InvalidRequest(why), TooLarge(max), TimedOut, Failed(how)
    ]
    roster::RosterError => roster::RosterError [NotGranted]
    sessions::SessionsError => sessions::SessionsError [NotGranted, NotFound]
    state::StateError => state::StateError [NoSession, InvalidKey, Full(max), Conflict]
}

/// Translates records and variants that have the same names on both sides.
macro_rules! theirs {
    ($($($ours:ident)::+ => $module:ident::$type:ident { $($field:ident),* })*) => {
        $(
            impl Theirs for crate::$($ours)::+ {
                type Theirs = $module::$type;
                fn theirs(self) -> Self::Theirs {
                    $module::$type { $($field: self.$field.theirs()),* }
                }
            }
        )*
    };
    ($($($ours:ident)::+ => $module:ident::$type:ident [ $($case:ident $(($held:ident))?),* ])*) => {
        $(
            impl Theirs for crate::$($ours)::+ {
                type Theirs = $module::$type;
                fn theirs(self) -> Self::Theirs {
                    match self {
                        $(Self::$case $(($held))? => $module::$type::$case $(($held.theirs()))?,)*
                    }
                }
            }
        )*
    };
}

theirs! {
    ConfigError => configure::ConfigError { pointer, message }
    Objection => guard::Objection { rules, reason, span, effect, display }
    Span => guard::Span { start, end }
    LocalizedText => guard::LocalizedText { language, text }
    Definition => tool::Definition { name, description, input_schema, effect, command, paths }
    CommandArgument => tool::CommandArgument { name, dialect }
    Output => tool::Output { text, structured }
    Description => preset::Description { name, description, order }
    Composition => preset::Composition { coordinates, tools, keep, kinds, sections }
    WorkerKind => preset::WorkerKind { name, description, tools, persona, context, model }
    ModelChoice => preset::ModelChoice { provider, model }
    Section => types::Section { id, text }
    Opening => session::Opening { notices, preflights }
    http::Request => http::Request { method, url, headers, body }
    http::Header => http::Header { name, value }
}

theirs! {
    Dialect => types::Dialect [Bash, Powershell, Cmd, Other(name)]
    EffectClass => types::EffectClass [None, Idempotent, Once]
    Verdict => guard::Verdict [Allow, Ask(objection), Deny(objection)]
    ToolError => tool::ToolError [InvalidArguments(text), Denied(text), Failed(text)]
    ToolFilter => preset::ToolFilter [All, Only(names), AllBut(names)]
    ContextSource => preset::ContextSource [Fresh, Fork, Program]
    Whom => approval::Whom [DefaultPath, OwnSession, RootSession, Nobody(why)]
    Disposition => result::Disposition [Keep, Annotate(note), Withhold(why)]
    Delivery => message::Delivery [Deliver, InterruptFirst]
    Preflight => session::Preflight [Writable(folder), Program(name)]
    log::Level => log::Level [Debug, Info, Warn, Error]
}

impl Theirs for crate::CannotRun {
    type Theirs = preset::ComposeError;

    fn theirs(self) -> preset::ComposeError {
        preset::ComposeError::CannotRun(self.0)
    }
}

impl Theirs for serde_json::Value {
    type Theirs = String;

    fn theirs(self) -> String {
        self.to_string()
    }
}
