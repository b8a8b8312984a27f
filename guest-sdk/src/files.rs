//! What a plugin can learn of files, as far as its row grants it.

use thiserror::Error;

use crate::host;

/// The most that one [`read`] returns.
pub const MAX_PIECE_BYTES: u32 = 64 * 1024;

/// What is known of a path without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The absolute path after all symbolic links.
    pub resolved: String,
    /// What it leads to.
    pub kind: FileKind,
    /// The size in bytes, for regular files.
    pub size: Option<u64>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A device, a pipe, a socket.
    Other,
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The bytes, fewer than asked for only at the end of the file.
    pub bytes: Vec<u8>,
    /// The size of the whole file, in bytes.
    pub size: u64,
}

/// Why nothing is known of a path.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FileError {
    /// The grant does not cover this path, or it leads out of what the grant covers.
    /// Says nothing about whether it exists.
    #[error("no grant covers this path: ask for it in GRANTS and give it in the row")]
    NotGranted,
    /// There is nothing at this path.
    #[error("there is nothing at this path")]
    NotFound,
    /// The path cannot be used; the text says why.
    #[error("the path cannot be used: {0}")]
    InvalidPath(String),
    /// The system refused or failed; the text says how.
    #[error("{0}")]
    Failed(String),
}

/// Returns what a path leads to, relative paths taken from the call's cwd.
///
/// Needs the grant `files.metadata`. Symbolic links are followed; where they lead must
/// be covered too.
///
/// # Errors
///
/// Why nothing is known of the path.
pub fn stat(path: &str) -> Result<Metadata, FileError> {
    host::stat(path)
}

/// Returns at most `length` bytes of a regular file from `offset` on, and never more than
/// [`MAX_PIECE_BYTES`].
///
/// Needs the grant `files.read`; otherwise as for [`stat`].
///
/// # Errors
///
/// Why nothing is read.
pub fn read(path: &str, offset: u64, length: u32) -> Result<Piece, FileError> {
    host::read_file(path, offset, length)
}

/// Returns the whole of a regular file that has at most `max` bytes.
///
/// Needs the grant `files.read`; otherwise as for [`stat`].
///
/// # Errors
///
/// Why nothing is read, a larger size among it.
pub fn read_whole(path: &str, max: u64) -> Result<Vec<u8>, FileError> {
    let mut whole = Vec::new();
    loop {
        let length: u64 = whole.len().try_into().unwrap_or(u64::MAX);
        let piece = read(path, length, MAX_PIECE_BYTES)?;
        if piece.size > max || length > max {
            let message = format!("the file has {} bytes, more than {max}", piece.size);
            return Err(FileError::Failed(message));
        }
        if piece.bytes.is_empty() {
            return Ok(whole);
        }
        whole.extend(piece.bytes);
        if u64::try_from(whole.len()).is_ok_and(|length| length == piece.size) {
            return Ok(whole);
        }
    }
}
