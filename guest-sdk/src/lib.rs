//! What a plugin of Damper is written with.
//!
//! A plugin is a struct with one trait: [`Guard`] judges calls, [`Tool`] provides
//! tools. One macro makes it a component; nothing here knows the host.
//!
//! ```
//! use damper_guest::{Call, Guard, NoConfig, Objection, Verdict};
//!
//! struct NoForce;
//!
//! impl Guard for NoForce {
//!     const ID: &'static str = "example/no-force";
//!     type Config = NoConfig;
//!
//!     fn new(_: NoConfig) -> Self {
//!         Self
//!     }
//!
//!     fn check(&self, call: &Call) -> Verdict {
//!         match call.command() {
//!             Some(command) if command.text.contains("--force") => {
//!                 Verdict::Ask(Objection::new("force", "the command forces something"))
//!             }
//!             Some(_) | None => Verdict::Allow,
//!         }
//!     }
//! }
//!
//! damper_guest::export_guard!(NoForce);
//!
//! // A plain `cargo test` asks the guard without WebAssembly.
//! let call = Call::new("bash").with_command("git push --force");
//! let verdict = NoForce.check(&call);
//! assert_eq!(verdict.objection().expect("it asks").rules, ["force"]);
//! ```

mod call;
mod config;
mod files;
pub mod manifest;
mod plugin;
mod tool;
mod verdict;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod glue;

pub use call::{ApprovalPolicy, Call, Command, Dialect, Facts, ModeBinding, ToolSource};
pub use config::{ConfigError, NoConfig, read_config};
pub use files::{FileError, FileKind, Metadata};
pub use manifest::{Grants, Limits};
pub use plugin::{Guard, Tool};
#[doc(hidden)]
pub use plugin::{guard_manifest as __guard_manifest, tool_manifest as __tool_manifest};
pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize};
pub use tool::{CommandArgument, Definition, EffectClass, Output, ToolError};
pub use verdict::{LocalizedText, Objection, Span, Verdict};
