//! How a call ends.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CallId;

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    /// The answer as text, for the model.
    pub text: String,
    /// The answer as a value, for programs.
    pub structured: Option<Value>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

impl Output {
    /// Returns an answer that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
            is_error: false,
        }
    }

    /// Returns the tool's own word that it could not do what it was asked.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
            is_error: true,
        }
    }
}

/// Why a call failed although nobody refused it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The call itself is wrong: no such tool, arguments that do not fit.
    Caller(String),
    /// The plugin that provides the tool trapped or hit a limit.
    Guest(String),
    /// The host could not do its part.
    Host(String),
}

impl Fault {
    /// Returns what happened.
    pub fn text(&self) -> &str {
        match self {
            Self::Caller(text) | Self::Guest(text) | Self::Host(text) => text,
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The tool ran and answered, be it with an error of its own.
    Completed,
    /// A guard, a person or a rule refused; the tool did not run.
    Denied,
    /// The caller, a guest or the host failed.
    Failed,
    /// The caller took the call back.
    Cancelled,
    /// The tool was stopped at its deadline.
    TimedOut,
    /// The tool was started and what became of it is not known.
    Unknown,
}

impl Ending {
    /// Returns the word that people and the journal use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed-out",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer to a call. A call always has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The call that is answered.
    pub call: CallId,
    /// How it ended.
    pub ending: Ending,
    /// What the caller is told; `is_error` for every ending but `Completed`.
    pub output: Output,
}
