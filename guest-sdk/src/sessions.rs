//! The sessions of the tree in which the hook is asked.

use thiserror::Error;

use crate::{Session, host};

/// Why a session is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SessionsError {
    /// Needs the grant `sessions`.
    #[error("the grant `sessions` is missing: ask for it in GRANTS and give it in the row")]
    NotGranted,
    /// There is no such session in the tree of the one that the hook is asked for.
    #[error("there is no such session in this tree")]
    NotFound,
}

/// Returns the session that the hook is asked for, if it is asked for one. Needs no grant.
pub fn current() -> Option<Session<'static>> {
    host::current_session()
}

/// Returns a session of the same tree.
///
/// # Errors
///
/// Needs the grant `sessions`, and a session with this id.
pub fn get(id: &str) -> Result<Session<'static>, SessionsError> {
    host::session(id)
}

/// Returns the ids of the live sessions of the same tree, sorted.
///
/// # Errors
///
/// Needs the grant `sessions`.
pub fn tree() -> Result<Vec<String>, SessionsError> {
    host::session_tree()
}
