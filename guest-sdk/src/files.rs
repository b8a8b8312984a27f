//! What a plugin can learn of files, as far as its row grants it.

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

/// Why nothing is known of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileError {
    /// The grant does not cover this path, or it leads out of what the grant covers.
    /// Says nothing about whether it exists.
    NotGranted,
    /// There is nothing at this path.
    NotFound,
    /// The path cannot be used; the text says why.
    InvalidPath(String),
    /// The system refused or failed; the text says how.
    Failed(String),
}
