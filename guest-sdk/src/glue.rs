//! The contract in `wit/` as generated code, and the hooks that plugins export. Compiled
//! into components only.

mod exports;
pub(crate) mod imports;
mod translation;

pub use exports::{Asked, configured};
pub use translation::{Ours, Theirs};

/// What every plugin may import, and the exports that each has.
#[allow(warnings, clippy::all, unsafe_code, reason = "generated")]
pub mod common {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "package damper:sdk; world common { include damper:plugin/described@1.0.0; }",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export",
    });
}

pub use common::{
    damper::plugin::types,
    exports::damper::plugin::{configure, describe},
};

/// Generates a hook in a module of the name that `export_plugin!` calls it.
///
/// A component's world is the union of those that its crate exports. The contract's own
/// worlds would each bring the imports again.
macro_rules! hook {
    ($name:ident: $interface:ident, $inline:tt) => {
        #[allow(warnings, clippy::all, unsafe_code, reason = "generated")]
        pub mod $name {
            wit_bindgen::generate!({
                path: "../wit",
                inline: $inline,
                with: {
                    "damper:plugin/types@1.0.0": super::common::damper::plugin::types,
                },
                generate_all,
                pub_export_macro: true,
                export_macro_name: "export",
            });

            pub use self::exports::damper::plugin::$interface as interface;
        }
    };
}

hook!(guard: guard, "package damper:sdk; world guard-hook { export damper:plugin/guard@1.0.0; }");
hook!(catalogue: catalogue, "package damper:sdk; world catalogue-hook { export damper:plugin/catalogue@1.0.0; }");
hook!(preset: preset, "package damper:sdk; world preset-hook { export damper:plugin/preset@1.0.0; }");
hook!(persona: persona, "package damper:sdk; world persona-hook { export damper:plugin/persona@1.0.0; }");
hook!(tool: tool, "package damper:sdk; world tool-hook { export damper:plugin/tool@1.0.0; }");
hook!(message: message, "package damper:sdk; world message-hook { export damper:plugin/message@1.0.0; }");
hook!(approval: approval, "package damper:sdk; world approval-hook { export damper:plugin/approval@1.0.0; }");
hook!(review: result, "package damper:sdk; world result-hook { export damper:plugin/%result@1.0.0; }");
hook!(welcome: session, "package damper:sdk; world session-hook { export damper:plugin/session@1.0.0; }");

/// A thing of the host that a plugin is asked about, or got by asking.
#[derive(Debug)]
pub enum Handle<'host, T> {
    /// It is there while the hook runs.
    Borrowed(&'host T),
    /// It is there until it is dropped.
    Owned(T),
}

impl<T> Handle<'_, T> {
    pub(crate) const fn get(&self) -> &T {
        match self {
            Self::Borrowed(thing) => thing,
            Self::Owned(thing) => thing,
        }
    }
}

/// Exports the hooks of a plugin, and what every plugin says about itself.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_on_wasm {
    ($($hook:ident: $plugin:ty),+) => {
        const _: () = {
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
                    $(
                        $crate::glue::configured(
                            ::core::stringify!($hook),
                            $crate::__hooks::$hook::configured::<$plugin>(&settings),
                        )?;
                    )+
                    ::core::result::Result::Ok(())
                }
            }

            $crate::glue::common::export!(Export with_types_in $crate::glue::common);
        };
        $(
            const _: () = {
                type Export = $crate::glue::Asked<$plugin>;
                $crate::glue::$hook::export!(Export with_types_in $crate::glue::$hook);
            };
        )+
    };
}
