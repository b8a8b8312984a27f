//! The answer of a tool that a plugin is asked about.

use crate::{Call, resource::resource};

resource! {
    /// What a tool answered, before the caller is told.
    Outcome, made from OutcomeFacts {
        /// The call.
        call: Call<'static>,
        /// How it ended.
        ending: Ending,
        /// Whether the tool says that it failed.
        is_error: bool,
        /// The answer as text, its beginning where it is longer than 1 MiB.
        text: String,
        /// The length of the whole text, in bytes.
        text_bytes: u64,
        /// The answer for programs: the text of one JSON value of at most 1 MiB.
        structured: Option<String>,
        /// The time the tool took, in microseconds.
        micros: u64,
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The tool gave its answer, good or bad.
    Completed,
    /// It failed or could not be run.
    Failed,
    /// It ran out of time.
    TimedOut,
    /// It was taken back.
    Cancelled,
    /// An ending that this version of the contract does not name.
    Other(String),
}

/// Outcomes for native tests.
#[cfg(not(target_arch = "wasm32"))]
impl Outcome<'static> {
    /// Returns the good answer of a call.
    pub fn new(call: Call<'static>, text: &str) -> Self {
        OutcomeFacts {
            call,
            text: text.to_owned(),
            text_bytes: text.len().try_into().unwrap_or(u64::MAX),
            ..OutcomeFacts::default()
        }
        .into()
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for OutcomeFacts {
    fn default() -> Self {
        Self {
            call: Call::new("bash"),
            ending: Ending::Completed,
            is_error: false,
            text: String::new(),
            text_bytes: 0,
            structured: None,
            micros: 1_000,
        }
    }
}
