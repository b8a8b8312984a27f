//! The time, as it passed since the Unix epoch.

use std::time::Duration;

use thiserror::Error;

use crate::host;

/// Why the time is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ClockError {
    /// Needs the grant `clock`.
    #[error("the grant `clock` is missing: ask for it in GRANTS and give it in the row")]
    NotGranted,
}

/// Returns when the call arrived, else when the hook was asked. Needs no grant.
pub fn started() -> Duration {
    host::started()
}

/// Returns what time it is.
///
/// # Errors
///
/// Needs the grant `clock`.
pub fn now() -> Result<Duration, ClockError> {
    host::now()
}
