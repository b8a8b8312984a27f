//! Asks before a shell command destroys something.
//!
//! The text is parsed in its own dialect, everything it would execute is walked, and
//! each program about to run is looked up in a table of programs, options and operands.
//! Nothing is decided by searching the text.

mod base64;
mod bash;
mod classify;
mod cmd;
mod families;
mod finding;
mod gate;
mod invocation;
mod options;
mod powershell;
mod temp;
mod wrappers;

pub use classify::{Context, MAX_CODE_BYTES, MAX_DEPTH, classify};
pub use finding::{Effect, Finding, Rule};
pub use gate::{ApprovalGate, Config};
pub use invocation::Dialect;

damper_guest::export_guard!(ApprovalGate);
