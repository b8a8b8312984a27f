//! What the classifier answers: rules that matched, where, and what would happen.

use std::ops::Range;

/// What a command would do to the world, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Removes trees of files, many files, or files against their protection.
    DeletesForcibly,
    /// Replaces the file system of a whole volume.
    FormatsVolume,
    /// Changes partition tables, file system signatures or encryption headers.
    RewritesDisk,
    /// Cannot be known from the text.
    HidesIntent,
}

impl Effect {
    /// Returns the effect in a few words, to follow "the command".
    pub fn words(self) -> &'static str {
        match self {
            Self::DeletesForcibly => "deletes recursively or by force",
            Self::FormatsVolume => "formats a volume",
            Self::RewritesDisk => "rewrites a disk",
            Self::HidesIntent => "hides what it does",
        }
    }
}

/// A reason to ask, with the texts a person is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// The stable id, for instance `rm-recursive-force`.
    pub id: &'static str,
    /// What the matched command does.
    pub effect: Effect,
    /// How narrow the rule is; of several that matched, the highest is named first.
    pub specificity: u8,
    /// The text in English.
    pub english: &'static str,
    /// The text in Simplified Chinese.
    pub chinese: &'static str,
}

/// One rule that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The command that matched, in bytes of the judged text. A command found inside
    /// another one's text, as in `bash -c '...'`, has the span of the outer one.
    pub span: Option<Range<usize>>,
}

/// The text is longer than is looked at.
pub(crate) static TOO_LARGE: Rule = Rule {
    id: "too-large",
    effect: Effect::HidesIntent,
    specificity: 2,
    english: "The command is too long to be checked",
    chinese: "命令过长，无法检查",
};

/// The text nests deeper than is followed.
pub(crate) static TOO_DEEP: Rule = Rule {
    id: "too-deep",
    effect: Effect::HidesIntent,
    specificity: 2,
    english: "The command is nested too deeply to be checked",
    chinese: "命令嵌套过深，无法检查",
};

/// The text does not parse and names a program that some rule is about.
pub(crate) static PARSE_ERROR: Rule = Rule {
    id: "parse-error",
    effect: Effect::HidesIntent,
    specificity: 1,
    english: "The command cannot be parsed and mentions a program that can destroy data",
    chinese: "命令无法解析，且提到了可能破坏数据的程序",
};

/// What runs is not in the text, and its arguments look like those of a deletion.
pub(crate) static HIDDEN_COMMAND: Rule = Rule {
    id: "hidden-command",
    effect: Effect::HidesIntent,
    specificity: 3,
    english: "The program is computed when the command runs, and is told to act recursively and by force",
    chinese: "程序名在运行时才确定，且带有递归强制参数",
};
