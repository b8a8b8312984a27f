//! The plugin's log.

use crate::host;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For whoever looks for a mistake.
    Debug,
    /// Worth knowing.
    Info,
    /// Probably wrong.
    Warn,
    /// Certainly wrong.
    Error,
}

/// Writes a line for whoever looks for a mistake.
pub fn debug(message: impl AsRef<str>) {
    host::write_log(Level::Debug, message.as_ref());
}

/// Writes a line that is worth knowing.
pub fn info(message: impl AsRef<str>) {
    host::write_log(Level::Info, message.as_ref());
}

/// Writes a line about what is probably wrong.
pub fn warn(message: impl AsRef<str>) {
    host::write_log(Level::Warn, message.as_ref());
}

/// Writes a line about what is certainly wrong.
pub fn error(message: impl AsRef<str>) {
    host::write_log(Level::Error, message.as_ref());
}
