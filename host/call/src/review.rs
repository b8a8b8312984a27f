//! What becomes of a tool's answer before the caller is told.

use std::sync::Arc;

use crate::{Ending, Output, ToolCall};

/// A tool's answer, to be looked at.
#[derive(Debug, Clone)]
pub struct ToolAnswer {
    /// The call.
    pub call: Arc<ToolCall>,
    /// How it ended.
    pub ending: Ending,
    /// What the tool answered.
    pub output: Output,
    /// The time it took, in microseconds.
    pub micros: u64,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It stays as it is.
    Keep,
    /// This note is added.
    Annotate(String),
    /// The caller gets this reason instead; the answer stays in the record.
    Withhold(String),
}
