//! What all hooks have in common, and the macros that make a crate a component.

/// Defines the trait of a hook, and what [`export_plugin!`](crate::export_plugin) asks of
/// a plugin that has it.
macro_rules! hook {
    (
        $name:literal:
        $(#[$doc:meta])*
        pub trait $hook:ident: Sized + 'static { $($body:tt)* }
    ) => {
        $(#[$doc])*
        pub trait $hook: Sized + 'static {
            /// The plugin's id, `owner/name`.
            const ID: &'static str;
            /// What it asks to be granted.
            const GRANTS: $crate::Grants = $crate::Grants::NONE;
            /// The limits it asks for.
            const LIMITS: $crate::Limits = $crate::Limits::DEFAULT;

            /// The row's settings. [`NoConfig`](crate::NoConfig) where there are none.
            type Config: serde::de::DeserializeOwned + schemars::JsonSchema;

            /// Returns the plugin with a row's settings.
            fn new(config: Self::Config) -> Self;

            $($body)*
        }

        #[doc(hidden)]
        pub mod hook {
            use super::$hook as Hook;
            use crate::{ConfigError, manifest::Part, read_config};

            pub type Config<P> = <P as Hook>::Config;

            pub const fn part<P: Hook>() -> Part {
                Part::new::<Config<P>>($name, P::ID, P::GRANTS, P::LIMITS)
            }

            pub fn configured<P: Hook>(settings: &str) -> Result<P, ConfigError> {
                read_config(settings).map(P::new)
            }
        }
    };
}

pub(crate) use hook;

/// The hooks, by the names that [`export_plugin!`](crate::export_plugin) takes.
#[doc(hidden)]
pub mod hooks {
    pub use crate::{
        approval::hook as approval, catalogue::hook as catalogue, guard::hook as guard,
        message::hook as message, persona::hook as persona, preset::hook as preset,
        review::hook as review, tool::hook as tool, welcome::hook as welcome,
    };
}

/// Makes the crate a component with several hooks, each a type of its own or all the same.
///
/// All parts have one `ID` and one `Config`; the crate does not compile otherwise. The
/// manifest asks for the grants of all, and for the largest of each limit.
///
/// ```
/// # use damper_guest::{Call, Disposition, Guard, NoConfig, Outcome, Review, Verdict};
/// # struct Before;
/// # impl Guard for Before {
/// #     const ID: &'static str = "example/both";
/// #     type Config = NoConfig;
/// #     fn new(_: NoConfig) -> Self { Self }
/// #     fn check(&self, _: &Call) -> Verdict { Verdict::Allow }
/// # }
/// # struct After;
/// # impl Review for After {
/// #     const ID: &'static str = "example/both";
/// #     type Config = NoConfig;
/// #     fn new(_: NoConfig) -> Self { Self }
/// #     fn review(&self, _: &Outcome) -> Disposition { Disposition::Keep }
/// # }
/// damper_guest::export_plugin!(guard: Before, review: After);
/// # assert!(manifest().contains(r#""hooks":["guard","result"]"#));
/// ```
///
/// Parts with different ids are no plugin:
///
/// ```compile_fail,E0080
/// # use damper_guest::{Call, Disposition, Guard, NoConfig, Outcome, Review, Verdict};
/// # struct Before;
/// # impl Guard for Before {
/// #     const ID: &'static str = "example/both";
/// #     type Config = NoConfig;
/// #     fn new(_: NoConfig) -> Self { Self }
/// #     fn check(&self, _: &Call) -> Verdict { Verdict::Allow }
/// # }
/// # struct After;
/// # impl Review for After {
/// #     const ID: &'static str = "example/other";
/// #     type Config = NoConfig;
/// #     fn new(_: NoConfig) -> Self { Self }
/// #     fn review(&self, _: &Outcome) -> Disposition { Disposition::Keep }
/// # }
/// damper_guest::export_plugin!(guard: Before, review: After);
/// ```
///
/// The parts are called `guard`, `catalogue`, `preset`, `persona`, `tool`, `message`,
/// `approval`, `review` and `welcome`, as their traits are. Natively the macro adds
/// nothing but `manifest()`, which tests can read.
#[macro_export]
macro_rules! export_plugin {
    ($first:ident: $plugin:ty $(, $hook:ident: $more:ty)* $(,)?) => {
        /// Returns the plugin's manifest, as `damper plugin build` stores it.
        pub fn manifest() -> ::std::string::String {
            const PARTS: &[$crate::manifest::Part] = &[
                $crate::__hooks::$first::part::<$plugin>(),
                $($crate::__hooks::$hook::part::<$more>(),)*
            ];
            const { $crate::manifest::Part::check(PARTS) };
            $crate::manifest::Part::manifest(
                PARTS,
                $crate::manifest::Package {
                    version: ::core::env!("CARGO_PKG_VERSION"),
                    description: ::core::env!("CARGO_PKG_DESCRIPTION"),
                },
            )
        }

        $(
            // All parts read the same settings.
            const _: fn(
                $crate::__hooks::$first::Config<$plugin>,
            ) -> $crate::__hooks::$hook::Config<$more> = |config| config;
        )*

        #[cfg(target_arch = "wasm32")]
        $crate::__export_on_wasm!($first: $plugin $(, $hook: $more)*);
    };
}

/// Makes the crate a component that is this [`Guard`](crate::Guard).
#[macro_export]
macro_rules! export_guard {
    ($plugin:ty) => {
        $crate::export_plugin!(guard: $plugin);
    };
}

/// Makes the crate a component that is this [`Catalogue`](crate::Catalogue).
#[macro_export]
macro_rules! export_catalogue {
    ($plugin:ty) => {
        $crate::export_plugin!(catalogue: $plugin);
    };
}

/// Makes the crate a component that is this [`Preset`](crate::Preset).
#[macro_export]
macro_rules! export_preset {
    ($plugin:ty) => {
        $crate::export_plugin!(preset: $plugin);
    };
}

/// Makes the crate a component that is this [`Persona`](crate::Persona).
#[macro_export]
macro_rules! export_persona {
    ($plugin:ty) => {
        $crate::export_plugin!(persona: $plugin);
    };
}

/// Makes the crate a component that is this [`Tool`](crate::Tool).
#[macro_export]
macro_rules! export_tool {
    ($plugin:ty) => {
        $crate::export_plugin!(tool: $plugin);
    };
}

/// Makes the crate a component that is this [`Message`](crate::Message).
#[macro_export]
macro_rules! export_message {
    ($plugin:ty) => {
        $crate::export_plugin!(message: $plugin);
    };
}

/// Makes the crate a component that is this [`Approval`](crate::Approval).
#[macro_export]
macro_rules! export_approval {
    ($plugin:ty) => {
        $crate::export_plugin!(approval: $plugin);
    };
}

/// Makes the crate a component that is this [`Review`](crate::Review).
#[macro_export]
macro_rules! export_review {
    ($plugin:ty) => {
        $crate::export_plugin!(review: $plugin);
    };
}

/// Makes the crate a component that is this [`Welcome`](crate::Welcome).
#[macro_export]
macro_rules! export_welcome {
    ($plugin:ty) => {
        $crate::export_plugin!(welcome: $plugin);
    };
}
