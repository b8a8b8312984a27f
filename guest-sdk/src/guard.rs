//! The hook `guard`, and what guards say.

use std::ops::Range;

use crate::{Call, plugin::hook};

hook! { "guard":
    /// A plugin that judges calls before they run.
    pub trait Guard: Sized + 'static {
        /// Returns the verdict on a call that has not run yet.
        fn check(&self, call: &Call) -> Verdict;
    }
}

/// A guard's answer. Over all guards, deny beats ask and ask beats allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No objection. Loosens nothing that others object to.
    Allow,
    /// A person should decide.
    Ask(Objection),
    /// Must not run.
    Deny(Objection),
}

/// Why a call should not simply run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// The ids of all rules that matched, the most specific first.
    pub rules: Vec<String>,
    /// The reason, in English, for the agent and the record. Never empty.
    pub reason: String,
    /// Where in the judged text the cause is.
    pub span: Option<Span>,
    /// What the call would do, in a few words, for instance `deletes files recursively`.
    pub effect: Option<String>,
    /// What a person is shown, by language. Empty: the reason is shown.
    pub display: Vec<LocalizedText>,
}

/// A part of the judged text, in bytes: of the command where the call has one,
/// else of the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// A text in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalizedText {
    /// A BCP 47 language tag, for instance `en` or `zh-Hans`.
    pub language: String,
    /// The text.
    pub text: String,
}

impl Verdict {
    /// Returns why, unless there is no objection.
    pub const fn objection(&self) -> Option<&Objection> {
        match self {
            Self::Allow => None,
            Self::Ask(objection) | Self::Deny(objection) => Some(objection),
        }
    }
}

impl Objection {
    /// Returns an objection with one rule and a reason.
    pub fn new(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            rules: vec![rule.into()],
            reason: reason.into(),
            span: None,
            effect: None,
            display: Vec::new(),
        }
    }
}

/// Saturates, since no judged text is as long as 4 GiB.
impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let bound = |index| u32::try_from(index).unwrap_or(u32::MAX);
        Self {
            start: bound(range.start),
            end: bound(range.end),
        }
    }
}
