//! The tools that the host itself provides: read, grep, bash.
//!
//! A tool gets arguments that fit its schema and a [`ToolContext`], and answers with
//! text for a model. It knows nothing of guards, approvals or the journal: who calls
//! [`run`] has already decided that the call may happen.

mod native;

mod context;
mod reach;

mod bash;
mod grep;
mod read;

pub use bash::{SHELL_SUBCOMMAND, shell_child_main};
pub use context::{DEFAULT_GRACE, DEFAULT_OUTPUT_CHARS, ToolContext, ToolResult};
pub use native::{NativeTool, run};
