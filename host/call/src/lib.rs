//! The plain data every room shares: ids, sessions, modes, tool calls, verdicts, outcomes.
//!
//! Knows no I/O, no clock, no async and no wire format. Doors turn bytes into these
//! types, `dispatch` acts on them and the journal keeps them.

mod ids;
mod mail;
mod mode;
mod opening;
mod outcome;
mod question;
mod review;
mod session;
mod shown;
mod state;
mod tool;
mod verdict;

pub use ids::{ApprovalId, CallId, Digest, InvalidId, RowId, SessionId};
pub use mail::{Delivery, Mail};
pub use mode::{
    Composed, Composition, ContextSource, ModeDescription, ModelChoice, Section, ToolFilter,
    WorkerKind, merge_sections,
};
pub use opening::{Opening, Preflight};
pub use outcome::{Ending, Fault, Outcome, Output};
pub use question::{Question, Whom};
pub use review::{Disposition, ToolAnswer};
pub use session::{ApprovalPolicy, Door, ModeBinding, Role, Session};
pub use shown::shown;
pub use state::{Expected, StateEntry, StateMap, StateScope, StateWrite};
pub use tool::{CommandArgument, Dialect, EffectClass, ToolCall, ToolDefinition, ToolSource};
pub use verdict::{LocalizedText, Objection, Span, Verdict, VerdictKind};
