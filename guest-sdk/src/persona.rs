//! The hook `persona`, which writes parts of prompts.

use crate::{Session, plugin::hook};

hook! { "persona":
    /// A plugin that writes parts of a session's prompt.
    pub trait Persona: Sized + 'static {
        /// Returns sections for a session that is being composed, in order.
        ///
        /// A section replaces the one that has its id already, where that stands; an
        /// empty text removes it; others are appended.
        fn sections(&self, session: &Session) -> Vec<Section>;
    }
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What the part is, for instance `persona`; unique in a prompt.
    pub id: String,
    /// The text.
    pub text: String,
}

impl Section {
    /// Returns a part of a prompt.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
        }
    }
}
