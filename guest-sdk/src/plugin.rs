//! The two kinds of plugin, and the macros that make a crate one.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{
    Call, Definition, Grants, Limits, Output, ToolError, Verdict,
    manifest::{self, Package},
};

/// A plugin that judges calls before they run.
pub trait Guard: Sized + 'static {
    /// The plugin's id, `owner/name`.
    const ID: &'static str;
    /// What it asks to be granted.
    const GRANTS: Grants = Grants::NONE;
    /// The limits it asks for.
    const LIMITS: Limits = Limits::DEFAULT;

    /// The row's settings. [`NoConfig`](crate::NoConfig) where there are none.
    type Config: DeserializeOwned + JsonSchema;

    /// Returns the guard with a row's settings.
    fn new(config: Self::Config) -> Self;

    /// Returns the verdict on a call that has not run yet.
    fn check(&self, call: &Call) -> Verdict;
}

/// A plugin that provides tools.
pub trait Tool: Sized + 'static {
    /// The plugin's id, `owner/name`.
    const ID: &'static str;
    /// What it asks to be granted.
    const GRANTS: Grants = Grants::NONE;
    /// The limits it asks for.
    const LIMITS: Limits = Limits::DEFAULT;

    /// The row's settings. [`NoConfig`](crate::NoConfig) where there are none.
    type Config: DeserializeOwned + JsonSchema;

    /// Returns the plugin with a row's settings.
    fn new(config: Self::Config) -> Self;

    /// Returns the tools, the same at each call for the same settings.
    fn definitions(&self) -> Vec<Definition>;

    /// Runs the tool that the call names.
    ///
    /// # Errors
    ///
    /// What the caller did wrong, what was not granted, or what failed.
    fn run(&self, call: &Call) -> Result<Output, ToolError>;
}

/// Returns the text of a guard's manifest.
#[doc(hidden)]
pub fn guard_manifest<G: Guard>(package: Package) -> String {
    manifest::manifest::<G::Config>(G::ID, package, "guard", G::GRANTS, G::LIMITS)
}

/// Returns the text of a tool plugin's manifest.
#[doc(hidden)]
pub fn tool_manifest<T: Tool>(package: Package) -> String {
    manifest::manifest::<T::Config>(T::ID, package, "tool", T::GRANTS, T::LIMITS)
}

/// Makes the crate a component that is this [`Guard`].
///
/// Natively it adds nothing but `manifest()`, which tests can read.
#[macro_export]
macro_rules! export_guard {
    ($plugin:ty) => {
        /// Returns the plugin's manifest, as `damper plugin build` stores it.
        pub fn manifest() -> ::std::string::String {
            $crate::__guard_manifest::<$plugin>($crate::__package!())
        }
        #[cfg(target_arch = "wasm32")]
        $crate::__export_guard_on_wasm!($plugin);
    };
}

/// Makes the crate a component that is this [`Tool`].
///
/// Natively it adds nothing but `manifest()`, which tests can read.
#[macro_export]
macro_rules! export_tool {
    ($plugin:ty) => {
        /// Returns the plugin's manifest, as `damper plugin build` stores it.
        pub fn manifest() -> ::std::string::String {
            $crate::__tool_manifest::<$plugin>($crate::__package!())
        }
        #[cfg(target_arch = "wasm32")]
        $crate::__export_tool_on_wasm!($plugin);
    };
}

/// What Cargo knows of the crate that expands it.
#[doc(hidden)]
#[macro_export]
macro_rules! __package {
    () => {
        $crate::manifest::Package {
            version: ::core::env!("CARGO_PKG_VERSION"),
            description: ::core::env!("CARGO_PKG_DESCRIPTION"),
        }
    };
}
