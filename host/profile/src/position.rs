//! Where in which file something stands, and what is wrong there.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A file's text with what messages call it.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The name in messages.
    pub name: Arc<str>,
    /// The folder that relative plugin files start from.
    pub folder: PathBuf,
    /// The content, as it was read.
    pub bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Returns the source for a file's path and content.
    pub fn at(path: &Path, bytes: &'a [u8]) -> Self {
        Self {
            name: path.display().to_string().into(),
            folder: path.parent().unwrap_or(Path::new("")).to_owned(),
            bytes,
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The file's name.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// Returns the position of the byte at `offset`, which is where `head` ends.
    pub(crate) fn after(file: &Arc<str>, head: &str) -> Self {
        let head = head.strip_prefix('\u{feff}').unwrap_or(head);
        let bytes = head.as_bytes();
        let is_break = |(at, byte): (usize, &u8)| {
            *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
        };
        let breaks = bytes.iter().enumerate().filter(|item| is_break(*item));
        let line_start = head.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        Self {
            file: file.clone(),
            line: clamp(breaks.count() + 1),
            column: clamp(head[line_start..].chars().count() + 1),
        }
    }
}

/// Returns the number as `u32`; files are far smaller than that.
pub(crate) fn clamp(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Something that is wrong at a place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub position: Position,
    /// What.
    pub message: String,
    /// What to write instead, when that can be guessed.
    pub hint: Option<String>,
}

impl Mistake {
    /// Returns a mistake without a hint.
    pub fn new(position: &Position, message: impl Into<String>) -> Self {
        Self {
            position: position.clone(),
            message: message.into(),
            hint: None,
        }
    }

    /// Returns the same mistake with a hint, if there is one.
    #[must_use]
    pub fn hinting(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

/// The most characters of a file that a message repeats.
const MAX_QUOTED_CHARS: usize = 60;

/// Returns a text in backticks, shortened and safe for a terminal.
pub(crate) fn quoted(text: &str) -> String {
    let shown: String = text
        .chars()
        .take(MAX_QUOTED_CHARS)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let rest = if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        "…"
    } else {
        ""
    };
    format!("`{shown}{rest}`")
}
