//! The modes there are.

use thiserror::Error;

use crate::host;

/// A mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// The name people see.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Why it cannot run, if it cannot.
    pub cannot_run: Option<String>,
}

/// Why nothing is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RosterError {
    /// Needs the grant `roster`.
    #[error("the grant `roster` is missing: ask for it in GRANTS and give it in the row")]
    NotGranted,
}

/// Returns all modes, in their order.
///
/// # Errors
///
/// Needs the grant `roster`.
pub fn modes() -> Result<Vec<Mode>, RosterError> {
    host::modes()
}
