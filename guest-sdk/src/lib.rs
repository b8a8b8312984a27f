//! What a plugin of Damper is written with.
//!
//! A plugin is a struct with the trait of its hook: [`Guard`] judges calls, [`Tool`]
//! provides tools, [`Preset`] declares a mode, [`Catalogue`] withholds tools, [`Persona`]
//! writes parts of prompts, [`Message`] looks after mail, [`Approval`] decides who is
//! asked, [`Review`] looks at answers, [`Welcome`] greets sessions. One macro makes it a
//! component; nothing here knows the host. What the host offers are the modules [`log`],
//! [`state`], [`files`], [`clock`], [`http`], [`roster`] and [`sessions`].
//!
//! # A guard
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
//!
//! # A mode
//!
//! ```
//! use damper_guest::{
//!     CannotRun, Composition, Description, JsonSchema, Preset, Session, export_preset,
//! };
//!
//! /// The row's settings.
//! #[derive(damper_guest::Deserialize, JsonSchema)]
//! #[serde(crate = "damper_guest::serde", deny_unknown_fields)]
//! #[schemars(crate = "damper_guest::schemars")]
//! struct Reader {
//!     /// The tools that a reader has.
//!     tools: Vec<String>,
//! }
//!
//! impl Preset for Reader {
//!     const ID: &'static str = "example/reader";
//!     type Config = Self;
//!
//!     fn new(config: Self) -> Self {
//!         config
//!     }
//!
//!     fn describe(&self) -> Description {
//!         Description {
//!             name: "Reader".to_owned(),
//!             description: "Reads and answers, and changes nothing.".to_owned(),
//!             order: 10,
//!         }
//!     }
//!
//!     fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
//!         Ok(Composition::solo()
//!             .only(self.tools.clone())
//!             .section("persona", "You read, and you change nothing."))
//!     }
//! }
//!
//! export_preset!(Reader);
//!
//! let reader = Reader { tools: vec!["read".to_owned()] };
//! let composed = reader.compose(&Session::new().bound_to("reader")).expect("it runs");
//! assert!(!composed.coordinates);
//! ```
//!
//! # A tool
//!
//! ```
//! use damper_guest::{
//!     Call, Definition, EffectClass, NoConfig, Output, Tool, ToolError, state,
//!     testing::Surroundings,
//! };
//! use serde_json::json;
//!
//! struct Count;
//!
//! impl Tool for Count {
//!     const ID: &'static str = "example/count";
//!     type Config = NoConfig;
//!
//!     fn new(_: NoConfig) -> Self {
//!         Self
//!     }
//!
//!     fn definitions(&self) -> Vec<Definition> {
//!         vec![Definition {
//!             name: "count".to_owned(),
//!             description: "Counts how often it was called in this session.".to_owned(),
//!             input_schema: json!({"type": "object", "additionalProperties": false}),
//!             effect: EffectClass::Once,
//!             command: None,
//!             paths: Vec::new(),
//!         }]
//!     }
//!
//!     fn run(&self, _: &Call) -> Result<Output, ToolError> {
//!         let count = state::update("count", |count: &mut u64| *count += 1)
//!             .map_err(|error| ToolError::Failed(error.to_string()))?;
//!         Ok(Output::text(format!("{count}")))
//!     }
//! }
//!
//! damper_guest::export_tool!(Count);
//!
//! // What is around a plugin in a test is made by hand.
//! let mut around = Surroundings::new();
//! let call = Call::new("count");
//! assert_eq!(around.ask(|| Count.run(&call)), Ok(Output::text("1")));
//! assert_eq!(around.ask(|| Count.run(&call)), Ok(Output::text("2")));
//! ```

mod plugin;
mod resource;

mod call;
mod mail;
mod outcome;
mod question;
mod session;

mod approval;
mod catalogue;
mod composition;
mod guard;
mod message;
mod persona;
mod preset;
mod review;
mod tool;
mod welcome;

mod config;
pub mod manifest;

pub mod clock;
pub mod files;
pub mod http;
pub mod log;
pub mod roster;
pub mod sessions;
pub mod state;

#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod glue;

pub use approval::{Approval, Whom};
pub use call::{ApprovalPolicy, Call, Command, Dialect, ModeBinding, ToolSource};
pub use catalogue::{Catalogue, ListedTool};
pub use composition::{Composition, ContextSource, ModelChoice, ToolFilter, WorkerKind};
pub use config::{ConfigError, NoConfig, read_config};
pub use files::{FileError, FileKind, Metadata};
pub use guard::{Guard, LocalizedText, Objection, Span, Verdict};
pub use mail::Mail;
pub use manifest::{FileGrants, Grants, Limits};
pub use message::{Delivery, Message};
pub use outcome::{Ending, Outcome};
pub use persona::{Persona, Section};
#[doc(hidden)]
pub use plugin::hooks as __hooks;
pub use preset::{CannotRun, Description, Preset};
pub use question::Question;
pub use review::{Disposition, Review};
pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize, Serialize};
pub use session::Session;
pub use tool::{CommandArgument, Definition, EffectClass, Output, Tool, ToolError};
pub use welcome::{Opening, Preflight, Welcome};

#[cfg(not(target_arch = "wasm32"))]
pub use {
    call::CallFacts, mail::MailFacts, outcome::OutcomeFacts, question::QuestionFacts,
    session::SessionFacts,
};

/// What the host offers: the contract's imports in a component, what a test makes of them
/// natively. Both have the same functions.
#[cfg(target_arch = "wasm32")]
use glue::imports as host;
#[cfg(not(target_arch = "wasm32"))]
use testing::imports as host;
