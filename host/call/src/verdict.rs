//! What guards say, and how their answers combine.

use serde::{Deserialize, Serialize};

/// A part of the judged text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// A text in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalizedText {
    /// A BCP 47 language tag.
    pub language: String,
    /// The text.
    pub text: String,
}

/// Why a call should not simply run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// The ids of all rules that matched, the most specific first.
    pub rules: Vec<String>,
    /// The reason, in English.
    pub reason: String,
    /// Where in the judged text the cause is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// What the call would do, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// What a person is shown, by language.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<LocalizedText>,
}

impl Objection {
    /// Returns an objection with one rule and a reason.
    pub fn new(rule: &str, reason: impl Into<String>) -> Self {
        Self {
            rules: vec![rule.to_owned()],
            reason: reason.into(),
            span: None,
            effect: None,
            display: Vec::new(),
        }
    }
}

/// One guard's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No objection.
    Allow,
    /// A person should decide.
    Ask(Objection),
    /// Must not run.
    Deny(Objection),
}

/// A verdict without its reasons, ordered by how much it restricts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// No objection.
    Allow,
    /// A person should decide.
    Ask,
    /// Must not run.
    Deny,
}

impl VerdictKind {
    /// Returns the word that people and profiles use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the most restrictive of many verdicts, `Allow` for none.
    ///
    /// The order of the guards makes no difference: deny beats ask, ask beats allow.
    pub fn combine(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Allow)
    }
}

impl Verdict {
    /// Returns the verdict without its reasons.
    pub const fn kind(&self) -> VerdictKind {
        match self {
            Self::Allow => VerdictKind::Allow,
            Self::Ask(_) => VerdictKind::Ask,
            Self::Deny(_) => VerdictKind::Deny,
        }
    }

    /// Returns why, unless there is no objection.
    pub const fn objection(&self) -> Option<&Objection> {
        match self {
            Self::Allow => None,
            Self::Ask(objection) | Self::Deny(objection) => Some(objection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::VerdictKind::{self, Allow, Ask, Deny};

    #[test]
    fn the_most_restrictive_verdict_wins_in_any_order() {
        let table = [
            (vec![], Allow),
            (vec![Allow], Allow),
            (vec![Allow, Allow], Allow),
            (vec![Allow, Ask], Ask),
            (vec![Ask, Allow], Ask),
            (vec![Ask, Ask], Ask),
            (vec![Deny, Ask], Deny),
            (vec![Ask, Deny], Deny),
            (vec![Allow, Deny], Deny),
            (vec![Deny, Allow, Ask], Deny),
            (vec![Ask, Allow, Deny], Deny),
        ];
        for (verdicts, expected) in table {
            assert_eq!(
                VerdictKind::combine(verdicts.clone()),
                expected,
                "{verdicts:?}"
            );
        }
    }
}
