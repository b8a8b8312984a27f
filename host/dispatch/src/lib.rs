//! The journey of a call: from a door to verdicts, to a tool, to an outcome.
//!
//! Owns generations of rows, the order of the steps, how verdicts combine, approvals and the
//! table of hooks. Knows no wire format, reads no profile text and starts no process but
//! through `tools`.

mod journey;

mod approvals;
mod arguments;
mod asking;
mod catalogue;
mod counters;
mod generation;
mod guards;
mod hooks;
mod mail;
pub mod measure;
mod modes;
mod opening;
mod outcome;
mod prepare;
mod redact;
mod reviews;
mod routing;

use std::sync::Arc;

use damper_call::{CallId, Session};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use approvals::{AnswerError, Approvals, Attached, Pending, Reply};
pub use counters::{Counted, RowCounters};
pub use generation::{Generation, InstalledRow, Loaded, RowState, Running};
pub use hooks::{HOOKS, HookEntry};
pub use journey::{Dispatcher, Machinery};
pub use modes::{LoadedMode, ModeView};
pub use opening::OpenError;
pub use prepare::{Captured, Components, Fallback, Prepared, prepare};

/// What a door asks for: one call of one tool.
#[derive(Debug)]
pub struct CallRequest {
    /// An id that the caller chose so that the call is never run twice; else one is made.
    pub id: Option<CallId>,
    /// The session the call belongs to.
    pub session: Arc<Session>,
    /// The tool's name as the caller wrote it.
    pub tool: String,
    /// The arguments: the text of one JSON object.
    pub arguments: String,
    /// Cancelled when the caller takes the call back.
    pub cancel: CancellationToken,
    /// Where to send lines of progress, for callers that show them.
    pub progress: Option<mpsc::Sender<String>>,
}
