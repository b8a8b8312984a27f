//! The hook `session`, which hears of sessions that are opened.

use crate::{Session, plugin::hook};

hook! { "session":
    /// A plugin that has something to say to new sessions.
    pub trait Welcome: Sized + 'static {
        /// Returns what there is to say to a session that is being opened.
        fn opened(&self, session: &Session) -> Opening;
    }
}

/// What a plugin has to say to a new session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Opening {
    /// What the agent and the person should know, one notice each.
    pub notices: Vec<String>,
    /// What the host should look at; what it finds becomes notices.
    pub preflights: Vec<Preflight>,
}

/// Something that the host should look at before the session's first call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preflight {
    /// Whether files can be made in a folder, absolute or relative to the session's.
    Writable(String),
    /// Whether a program is found on the search path.
    Program(String),
}
