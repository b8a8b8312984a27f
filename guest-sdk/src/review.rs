//! The hook `result`, which looks at what tools answer.

use crate::{Outcome, plugin::hook};

hook! { "result":
    /// A plugin that looks at what a tool answered before the caller is told.
    pub trait Review: Sized + 'static {
        /// Returns what becomes of an answer.
        fn review(&self, outcome: &Outcome) -> Disposition;
    }
}

/// What becomes of an answer. Over all plugins withholding wins, and all notes are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It stays as it is.
    Keep,
    /// This note is added to it.
    Annotate(String),
    /// The caller gets this reason instead; the answer stays in the record.
    Withhold(String),
}
