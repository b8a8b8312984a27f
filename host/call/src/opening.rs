//! What there is to say to a new session.

/// What a plugin has to say to a session that is being opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opening {
    /// What the agent and the person should know.
    pub notices: Vec<String>,
    /// What the host should look at before the first call.
    pub preflights: Vec<Preflight>,
}

/// Something the host should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preflight {
    /// Whether files can be made in a folder.
    Writable(String),
    /// Whether a program is found on the search path.
    Program(String),
}
