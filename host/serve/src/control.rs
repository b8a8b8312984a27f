//! What is said over the control socket: one request a line, answered by frames, a line each.

use std::path::PathBuf;

use damper_call::{CallId, Composition, Digest, Ending, LocalizedText};
use damper_dispatch::{ModeView, Pending};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a command asks of the host. One request a connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// What runs; answered with a [`crate::Status`].
    Status,
    /// Stop after draining.
    Stop,
    /// Look at the profile now; answered with a [`crate::ReloadReport`].
    Reload,
    /// Call a tool; answered with a [`CallReport`].
    Call(CallOrder),
    /// The records of a call, the last one without an id; answered with a list of records.
    Explain {
        /// The call's id or how it begins.
        call: Option<String>,
    },
    /// Records of all sessions, an item each.
    Log {
        /// How many of the newest to begin with.
        last: usize,
        /// Whether to go on with new ones as they come.
        follow: bool,
    },
    /// Bytes that are kept beside a record; answered with their text.
    Content {
        /// Their hash.
        digest: Digest,
    },
    /// The questions that wait; answered with a list of [`ApprovalView`].
    Approvals,
    /// Attaches an answering surface: items of [`Watched`] until the connection ends.
    WatchApprovals,
    /// Answers a question; answered with an [`AnswerReport`].
    Answer {
        /// The question's id or how it begins.
        id: String,
        /// Whether the call may run.
        allow: bool,
        /// Who answers.
        by: String,
        /// Why.
        why: Option<String>,
    },
    /// The running composition as text.
    ProfileShow,
    /// The modes.
    Modes,
    /// Serves MCP on this connection: what follows on it are bytes of that protocol.
    Mcp {
        /// Where the agent runs.
        cwd: PathBuf,
        /// The folders it works in; none means `cwd`.
        roots: Vec<PathBuf>,
        /// The agent's name, if whoever configured it gave one.
        agent: Option<String>,
        /// The mode that the session is bound to.
        #[serde(default)]
        mode: Option<String>,
    },
}

/// A call that a person makes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallOrder {
    /// The tool.
    pub tool: String,
    /// Its arguments: the text of one JSON object.
    pub arguments: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// An id of the caller's choice, so that it never runs twice.
    pub id: Option<CallId>,
    /// The mode of the session that it is made in.
    #[serde(default)]
    pub mode: Option<String>,
}

/// A mode, and whether a session can run in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModeReport {
    /// Its id.
    pub id: String,
    /// The name people see.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its place in lists.
    pub order: i32,
    /// Why no session can run in it, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_run: Option<String>,
    /// How a session of it is composed, if one can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<Composition>,
}

impl From<ModeView> for ModeReport {
    fn from(mode: ModeView) -> Self {
        Self {
            id: mode.id,
            name: mode.description.name,
            description: mode.description.description,
            order: mode.description.order,
            cannot_run: mode.cannot_run,
            composition: mode.composition,
        }
    }
}

/// A line of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frame {
    /// One of several items.
    Item(Value),
    /// The answer, or the end of the items.
    End(Value),
    /// The request was refused or failed.
    Error(ControlError),
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct ControlError {
    /// What kind of failure, for exit codes.
    pub kind: ErrorKind,
    /// What happened and what to do.
    pub text: String,
}

/// Kinds of failures that a script may tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// What was named does not exist.
    NotFound,
    /// It is not allowed.
    Refused,
    /// The request does not read.
    BadRequest,
    /// The host failed.
    Internal,
}

impl ControlError {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallReport {
    /// The call.
    pub call: CallId,
    /// How it ended.
    pub ending: Ending,
    /// What the caller is told.
    pub text: String,
    /// The answer as a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Whether that is an error.
    pub is_error: bool,
}

/// A question that waits, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// Its id.
    pub id: String,
    /// The call it is about.
    pub call: String,
    /// The session of the call.
    pub session: String,
    /// What the calling agent says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The tool.
    pub tool: String,
    /// The command line or the arguments, exactly.
    pub subject: String,
    /// Where it would run.
    pub cwd: String,
    /// Why it is asked.
    pub reason: String,
    /// What a person is shown, by language.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<LocalizedText>,
    /// When it was raised, in milliseconds since the Unix epoch.
    pub raised_at_ms: u64,
}

impl From<Pending> for ApprovalView {
    fn from(pending: Pending) -> Self {
        Self {
            id: pending.id.to_string(),
            call: pending.call.to_string(),
            session: pending.session.to_string(),
            agent: pending.agent,
            tool: pending.tool,
            subject: pending.subject,
            cwd: pending.cwd,
            reason: pending.reason,
            display: pending.display,
            raised_at_ms: pending.raised_at_ms,
        }
    }
}

/// What somebody who watches approvals is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// The surface is attached: from now on calls wait for an answer.
    Attached,
    /// A question was raised.
    Raised(ApprovalView),
    /// A question is gone: answered or withdrawn.
    Gone {
        /// Its id.
        id: String,
    },
}

/// That an answer was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerReport {
    /// The question.
    pub id: String,
    /// The call it was about.
    pub call: String,
    /// The answer.
    pub allowed: bool,
}

/// An answer, whole.
pub type Reply = Result<Value, ControlError>;
