//! One program about to run, in a form that no longer depends on the dialect.

/// Stands in a word's text for a part that only running the command would reveal.
///
/// It is a noncharacter. A text that contains it anyway is judged as if a part of it
/// were unknown, which can only add questions.
pub(crate) const UNKNOWN: char = '\u{10FFFF}';

/// The longest value that a variable is followed with, in bytes. Doubling a variable a few
/// dozen times would otherwise fill the memory.
pub(crate) const MAX_VALUE: usize = 4096;

/// The languages that commands are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// bash, sh, zsh and other POSIX shells.
    Bash,
    /// Windows PowerShell and PowerShell 7.
    PowerShell,
    /// The Windows command interpreter.
    Cmd,
}

/// A word after quotes, escapes and constant expansions are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text, with [`UNKNOWN`] for what is not constant.
    pub(crate) text: String,
    /// Whether the word begins with a quote, which makes `-Force` a plain value in PowerShell.
    pub(crate) quoted: bool,
    /// Whether the shell will match the word against file names.
    pub(crate) glob: bool,
    /// Whether an unknown part stands outside quotes, so that it may become several words.
    pub(crate) splits: bool,
}

impl Word {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// Returns whether running the command may turn this word into an option.
    pub(crate) fn may_become_option(&self) -> bool {
        if self.text.starts_with('-') {
            let name = self.text.split('=').next().unwrap_or(&self.text);
            return name.contains(UNKNOWN);
        }
        self.splits && self.text.chars().all(|c| c == UNKNOWN)
    }
}

/// What a program reads, as far as the text tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    /// The whole standard input, where it is constant.
    pub(crate) text: Option<String>,
    /// Whether the pipeline lists a tree of files (PowerShell).
    pub(crate) lists_tree: bool,
}

/// One program about to run. `words` is never empty; its first word is the program.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'a> {
    pub(crate) words: &'a [Word],
    pub(crate) dialect: Dialect,
    pub(crate) feed: &'a Feed,
    /// Whether more operands are added when it runs, as by xargs.
    pub(crate) open_ended: bool,
}

impl<'a> Invocation<'a> {
    /// Returns what runs when `words` replace the words of this invocation, if any are left.
    pub(crate) fn with_words(self, words: &'a [Word]) -> Option<Self> {
        (!words.is_empty()).then_some(Self { words, ..self })
    }
}

/// Returns the name that a program is known by: no folder, no extension, lower case.
pub(crate) fn program_name(word: &str, dialect: Dialect) -> String {
    let base = match dialect {
        Dialect::Bash => word.rsplit('/').next(),
        Dialect::PowerShell | Dialect::Cmd => word.rsplit(['/', '\\']).next(),
    };
    let mut name = base.unwrap_or(word).to_ascii_lowercase();
    for extension in [".exe", ".com", ".cmd", ".bat"] {
        if let Some(stem) = name.strip_suffix(extension)
            && !stem.is_empty()
        {
            name.truncate(stem.len());
            break;
        }
    }
    name
}
