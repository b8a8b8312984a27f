//! The ways a guest can fail, told apart and named.

use wasmtime::Trap;
use wasmtime_wasi::I32Exit;

use crate::limits::{LimitHit, LimitKey};

/// Why a guest gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestFailure {
    /// It ran into a limit.
    #[error("{0}")]
    Limit(LimitHit),
    /// It trapped; the text says how and ends with its last words, if it left any.
    #[error("trapped: {0}")]
    Trap(String),
    /// It ended itself instead of answering.
    #[error("called exit({0}) instead of answering")]
    Exit(i32),
    /// Its answer makes no sense; the text says why.
    #[error("answered nonsense: {0}")]
    Nonsense(String),
    /// It refuses the settings of its row although it took them before.
    #[error("refused its settings: {0}")]
    Settings(String),
    /// Too many guests were running and waiting.
    #[error(
        "no place among {running} running and {waiting} waiting guest calls within {wait_ms} ms"
    )]
    Overload {
        /// Guest calls that run at once.
        running: u32,
        /// Guest calls that may wait.
        waiting: u32,
        /// How long this one waited at most.
        wait_ms: u64,
    },
    /// The caller took the call back.
    #[error("was stopped because the call was cancelled")]
    Cancelled,
    /// The host could not do its part.
    #[error("could not be run: {0}")]
    Host(String),
}

impl GuestFailure {
    /// Returns a short stable name for counters and records.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Limit(_) => "limit",
            Self::Trap(_) => "trap",
            Self::Exit(_) => "exit",
            Self::Nonsense(_) => "nonsense",
            Self::Settings(_) => "settings",
            Self::Overload { .. } => "overload",
            Self::Cancelled => "cancelled",
            Self::Host(_) => "host",
        }
    }

    /// Names what wasmtime reports. `last_words` is the end of the guest's log.
    pub(crate) fn from_error(error: &wasmtime::Error, answer_limit: u64, last_words: &str) -> Self {
        if let Some(hit) = error.downcast_ref::<LimitHit>() {
            return Self::Limit(hit.clone());
        }
        if let Some(exit) = error.downcast_ref::<I32Exit>() {
            return Self::Exit(exit.0);
        }
        if error.is::<wasmtime::PoolConcurrencyLimitError>() {
            return Self::Limit(LimitHit {
                key: LimitKey::Calls,
                value: error.root_cause().to_string(),
            });
        }
        let cause = error.root_cause().to_string();
        // wasmtime keeps this error's type to itself, so its text is all there is.
        if cause.contains("fuel allocated for hostcalls has been exhausted") {
            return Self::Limit(LimitHit::bytes(LimitKey::Answer, answer_limit));
        }
        let what = match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => "call stack exhausted".to_owned(),
            Some(trap) => trap.to_string(),
            None => cause,
        };
        if last_words.is_empty() {
            Self::Trap(what)
        } else {
            Self::Trap(format!("{what}; its last words: {last_words}"))
        }
    }
}
