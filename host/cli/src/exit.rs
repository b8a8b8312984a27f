//! Exit codes, which scripts rely on, and how an error is told.

use std::process::ExitCode;

use damper_serve::{ClientError, ErrorKind, LockError, ServeError};

/// Done.
pub(crate) const OK: u8 = 0;
/// It failed.
pub(crate) const FAILED: u8 = 1;
/// Another host has the home. (2 is clap's, for an argument line that does not read.)
pub(crate) const HELD: u8 = 3;
/// No host is running.
pub(crate) const NOT_RUNNING: u8 = 4;
/// A call was denied, or an edit was refused.
pub(crate) const REFUSED: u8 = 5;
/// What was named does not exist.
pub(crate) const NOT_FOUND: u8 = 6;

/// Tells an error on stderr and returns its code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    crate::show::error(&format!("{error:#}"));
    ExitCode::from(code_of(error))
}

fn code_of(error: &anyhow::Error) -> u8 {
    if let Some(ServeError::Lock(LockError::Held(_) | LockError::Starting)) =
        error.downcast_ref::<ServeError>()
    {
        return HELD;
    }
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::NotRunning(_)) => NOT_RUNNING,
        Some(ClientError::Refused(refused)) => match refused.kind {
            ErrorKind::NotFound => NOT_FOUND,
            ErrorKind::Refused => REFUSED,
            ErrorKind::BadRequest | ErrorKind::Internal => FAILED,
        },
        Some(
            ClientError::NotAnswering(_)
            | ClientError::NotStarted(_)
            | ClientError::Broken(_)
            | ClientError::NotUnderstood(_),
        )
        | None => FAILED,
    }
}
