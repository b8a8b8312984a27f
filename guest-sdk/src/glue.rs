//! The contract in `wit/` as generated code, and its translation to the types of this
//! crate. Compiled into components only.

use crate::{
    ApprovalPolicy, Command, CommandArgument, ConfigError, Definition, Dialect, EffectClass,
    FileError, FileKind, LocalizedText, Metadata, ModeBinding, Objection, Output, Span, ToolError,
    ToolSource, Verdict,
};

// One world for what every plugin has and one for each hook: a component's world is
// the union of those whose macro its crate expands. The contract's own worlds would
// each bring the common exports again, under the same macro names.

/// What every plugin may import, and the exports that each has.
#[allow(warnings, clippy::all, unsafe_code, reason = "generated")]
pub mod common {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package damper:sdk;
            world common {
                include damper:plugin/imports@1.0.0;
                export damper:plugin/describe@1.0.0;
                export damper:plugin/configure@1.0.0;
            }",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_common",
    });
}

/// What a guard exports besides.
#[allow(warnings, clippy::all, unsafe_code, reason = "generated")]
pub mod judging {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package damper:sdk;
            world judging {
                export damper:plugin/guard@1.0.0;
            }",
        with: {
            "damper:plugin/types@1.0.0": super::common::damper::plugin::types,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_judging",
    });
}

/// What a tool plugin exports besides.
#[allow(warnings, clippy::all, unsafe_code, reason = "generated")]
pub mod providing {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package damper:sdk;
            world providing {
                export damper:plugin/tool@1.0.0;
            }",
        with: {
            "damper:plugin/types@1.0.0": super::common::damper::plugin::types,
        },
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_providing",
    });
}

pub use common::{
    damper::plugin::types,
    exports::damper::plugin::{configure, describe},
};
pub use judging::exports::damper::plugin::guard;
pub use providing::exports::damper::plugin::tool;

use common::damper::plugin::files;

/// Exports the hook `guard`.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_guard_on_wasm {
    ($plugin:ty) => {
        const _: () = {
            $crate::__export_common!($plugin, Guard);

            impl $crate::glue::guard::Guest for Export {
                fn check(call: &$crate::glue::types::Call) -> $crate::glue::guard::Verdict {
                    let call = $crate::glue::call(call);
                    configured(|plugin| $crate::Guard::check(plugin, &call)).into()
                }
            }

            $crate::glue::judging::export_judging!(
                Export with_types_in $crate::glue::judging
            );
        };
    };
}

/// Exports the hook `tool`.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_tool_on_wasm {
    ($plugin:ty) => {
        const _: () = {
            $crate::__export_common!($plugin, Tool);

            impl $crate::glue::tool::Guest for Export {
                fn definitions() -> ::std::vec::Vec<$crate::glue::tool::Definition> {
                    let tools = configured(|plugin| $crate::Tool::definitions(plugin));
                    tools.into_iter().map(::core::convert::Into::into).collect()
                }

                fn run(
                    call: &$crate::glue::types::Call,
                ) -> ::core::result::Result<$crate::glue::tool::Output, $crate::glue::tool::ToolError>
                {
                    let call = $crate::glue::call(call);
                    configured(|plugin| $crate::Tool::run(plugin, &call))
                        .map(::core::convert::Into::into)
                        .map_err(::core::convert::Into::into)
                }
            }

            $crate::glue::providing::export_providing!(
                Export with_types_in $crate::glue::providing
            );
        };
    };
}

/// Exports `describe` and `configure`, and holds the plugin that the latter makes.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_common {
    ($plugin:ty, $kind:ident) => {
        ::std::thread_local! {
            static PLUGIN: ::core::cell::RefCell<::core::option::Option<$plugin>> =
                const { ::core::cell::RefCell::new(::core::option::Option::None) };
        }

        fn configured<R>(ask: impl FnOnce(&$plugin) -> R) -> R {
            PLUGIN.with_borrow(|plugin| {
                ask(plugin.as_ref().expect("the host configures an instance before it asks it"))
            })
        }

        struct Export;

        impl $crate::glue::describe::Guest for Export {
            fn manifest() -> ::std::string::String {
                manifest()
            }
        }

        impl $crate::glue::configure::Guest for Export {
            fn configure(
                settings: ::std::string::String,
            ) -> ::core::result::Result<(), ::std::vec::Vec<$crate::glue::configure::ConfigError>>
            {
                let config =
                    $crate::read_config(&settings).map_err(|error| ::std::vec![error.into()])?;
                PLUGIN.set(::core::option::Option::Some(<$plugin as $crate::$kind>::new(config)));
                ::core::result::Result::Ok(())
            }
        }

        $crate::glue::common::export_common!(Export with_types_in $crate::glue::common);
    };
}

/// Returns the host's call as plugins see it.
pub fn call(call: &types::Call) -> crate::Call<'_> {
    crate::Call::of_host(call)
}

pub(crate) fn stat(path: &str) -> Result<Metadata, FileError> {
    let metadata = files::stat(path).map_err(|error| match error {
        files::FileError::NotGranted => FileError::NotGranted,
        files::FileError::NotFound => FileError::NotFound,
        files::FileError::InvalidPath(why) => FileError::InvalidPath(why),
        files::FileError::Failed(how) => FileError::Failed(how),
    })?;
    Ok(Metadata {
        resolved: metadata.resolved,
        kind: match metadata.kind {
            files::FileKind::File => FileKind::File,
            files::FileKind::Directory => FileKind::Directory,
            files::FileKind::Other => FileKind::Other,
        },
        size: metadata.size,
    })
}

impl From<types::Command> for Command {
    fn from(command: types::Command) -> Self {
        Self {
            text: command.text,
            dialect: match command.dialect {
                types::Dialect::Bash => Dialect::Bash,
                types::Dialect::Powershell => Dialect::Powershell,
                types::Dialect::Cmd => Dialect::Cmd,
                types::Dialect::Other(name) => Dialect::Other(name),
            },
        }
    }
}

impl From<types::ToolSource> for ToolSource {
    fn from(source: types::ToolSource) -> Self {
        match source {
            types::ToolSource::Native => Self::Native,
            types::ToolSource::Plugin(row) => Self::Plugin(row),
            types::ToolSource::Upstream(row) => Self::Upstream(row),
            types::ToolSource::Agent => Self::Agent,
        }
    }
}

impl From<types::ModeBinding> for ModeBinding {
    fn from(mode: types::ModeBinding) -> Self {
        match mode {
            types::ModeBinding::None => Self::None,
            types::ModeBinding::Bound(id) => Self::Bound(id),
            types::ModeBinding::Unknown => Self::Unknown,
        }
    }
}

impl From<types::ApprovalPolicy> for ApprovalPolicy {
    fn from(policy: types::ApprovalPolicy) -> Self {
        match policy {
            types::ApprovalPolicy::Ask => Self::Ask,
            types::ApprovalPolicy::Never => Self::Never,
        }
    }
}

impl From<types::EffectClass> for EffectClass {
    fn from(effect: types::EffectClass) -> Self {
        match effect {
            types::EffectClass::None => Self::None,
            types::EffectClass::Idempotent => Self::Idempotent,
            types::EffectClass::Once => Self::Once,
        }
    }
}

impl From<EffectClass> for types::EffectClass {
    fn from(effect: EffectClass) -> Self {
        match effect {
            EffectClass::None => Self::None,
            EffectClass::Idempotent => Self::Idempotent,
            EffectClass::Once => Self::Once,
        }
    }
}

impl From<Dialect> for types::Dialect {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Bash => Self::Bash,
            Dialect::Powershell => Self::Powershell,
            Dialect::Cmd => Self::Cmd,
            Dialect::Other(name) => Self::Other(name),
        }
    }
}

impl From<Verdict> for guard::Verdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Ask(objection) => Self::Ask(objection.into()),
            Verdict::Deny(objection) => Self::Deny(objection.into()),
        }
    }
}

impl From<Objection> for guard::Objection {
    fn from(objection: Objection) -> Self {
        let text = |LocalizedText { language, text }| guard::LocalizedText { language, text };
        Self {
            rules: objection.rules,
            reason: objection.reason,
            span: objection
                .span
                .map(|Span { start, end }| guard::Span { start, end }),
            effect: objection.effect,
            display: objection.display.into_iter().map(text).collect(),
        }
    }
}

impl From<Definition> for tool::Definition {
    fn from(definition: Definition) -> Self {
        Self {
            name: definition.name,
            description: definition.description,
            input_schema: definition.input_schema.to_string(),
            effect: definition.effect.into(),
            command: definition.command.map(|CommandArgument { name, dialect }| {
                tool::CommandArgument {
                    name,
                    dialect: dialect.into(),
                }
            }),
            paths: definition.paths,
        }
    }
}

impl From<Output> for tool::Output {
    fn from(output: Output) -> Self {
        Self {
            text: output.text,
            structured: output.structured.map(|value| value.to_string()),
        }
    }
}

impl From<ToolError> for tool::ToolError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::InvalidArguments(text) => Self::InvalidArguments(text),
            ToolError::Denied(text) => Self::Denied(text),
            ToolError::Failed(text) => Self::Failed(text),
        }
    }
}

impl From<ConfigError> for configure::ConfigError {
    fn from(ConfigError { pointer, message }: ConfigError) -> Self {
        Self { pointer, message }
    }
}
