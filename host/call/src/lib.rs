//! The plain data every room shares: ids, sessions, modes, tool calls, verdicts, outcomes.
//!
//! Knows no I/O, no clock, no async and no wire format. Doors turn bytes into these
//! types, `dispatch` acts on them and the journal keeps them.

mod ids;
mod mode;
mod outcome;
mod session;
mod shown;
mod state;
mod tool;
mod verdict;

pub use ids::{ApprovalId, CallId, Digest, InvalidId, RowId, SessionId};
pub use mode::{
    Composed, Composition, ContextSource, ModeDescription, ModelChoice, Section, ToolFilter,
    WorkerKind, merge_sections,
};
pub use outcome::{Ending, Fault, Outcome, Output};
pub use session::{ApprovalPolicy, Door, ModeBinding, Role, Session};
pub use shown::shown;
pub use state::{Expected, StateEntry, StateMap, StateScope, StateWrite};
pub use tool::{CommandArgument, Dialect, EffectClass, ToolCall, ToolDefinition, ToolSource};
pub use verdict::{LocalizedText, Objection, Span, Verdict, VerdictKind};
