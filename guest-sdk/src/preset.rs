//! The hook `preset`, which declares a mode.

use thiserror::Error;

use crate::{Composition, Session, plugin::hook};

hook! { "preset":
    /// A plugin that declares a mode: how a session is composed.
    pub trait Preset: Sized + 'static {
        /// Returns what people choose the mode by, the same for the same settings.
        fn describe(&self) -> Description;

        /// Returns how a session of the mode is composed, the same for the same settings
        /// and the same facts of the session.
        ///
        /// # Errors
        ///
        /// The mode cannot run here. The session is not opened then.
        fn compose(&self, session: &Session) -> Result<Composition, CannotRun>;
    }
}

/// What people choose a mode by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The name people see.
    pub name: String,
    /// What the mode is for, in a sentence.
    pub description: String,
    /// Its place in lists; lower comes first.
    pub order: i32,
}

/// The mode cannot run here; the text says what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the mode cannot run: {0}")]
pub struct CannotRun(pub String);
