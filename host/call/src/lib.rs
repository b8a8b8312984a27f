//! The plain data every room shares: ids, sessions, tool calls, verdicts, outcomes.
//!
//! Knows no I/O, no clock, no async and no wire format. Doors turn bytes into these
//! types, `dispatch` acts on them and the journal keeps them.

mod ids;
mod outcome;
mod session;
mod shown;
mod tool;
mod verdict;

pub use ids::{ApprovalId, CallId, Digest, InvalidId, RowId, SessionId};
pub use outcome::{Ending, Fault, Outcome, Output};
pub use session::{ApprovalPolicy, Door, ModeBinding, Role, Session};
pub use shown::shown;
pub use tool::{CommandArgument, Dialect, EffectClass, ToolCall, ToolDefinition, ToolSource};
pub use verdict::{LocalizedText, Objection, Span, Verdict, VerdictKind};
