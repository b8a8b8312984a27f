//! The table: which programs, told what, have which effect.
//!
//! A row is read from left to right: *this rule* matches *these programs* in *these
//! dialects*, their arguments read by *this grammar*, *when* one thing holds *unless*
//! another does. The rows of one kind stand in one file below `families/`.

mod delete;
mod disk;

use crate::classify::Walk;
use crate::finding::{HIDDEN_COMMAND, Rule};
use crate::invocation::{Dialect, Invocation, UNKNOWN, Word, program_name};
use crate::options::{Arguments, Grammar};
use crate::temp;

pub(crate) use delete::REMOVE_ITEM_RULE;

/// One line of the table.
pub(crate) struct Row {
    pub(crate) rule: &'static Rule,
    /// Names in lower case, without `.exe`. One that ends with `*` matches what it begins.
    pub(crate) programs: &'static [&'static str],
    pub(crate) dialects: &'static [Dialect],
    /// What stands between the program and the arguments, as `rm` in `git rm`.
    pub(crate) subcommand: Option<Subcommand>,
    pub(crate) grammar: &'static Grammar,
    pub(crate) when: Test,
    pub(crate) unless: Test,
    /// Whether it asks too when an unknown word may turn out to be an option.
    pub(crate) hidden_option_asks: bool,
    /// Whether it lets files in folders for temporary files go.
    pub(crate) temp_exempt: bool,
}

pub(crate) struct Subcommand {
    /// How the words before the subcommand are read.
    pub(crate) before: &'static Grammar,
    pub(crate) names: &'static [&'static str],
}

pub(crate) const EVERY_DIALECT: &[Dialect] = &[Dialect::Bash, Dialect::PowerShell, Dialect::Cmd];

/// What is asked of a command's arguments.
pub(crate) enum Test {
    Always,
    /// One of these options is given.
    Option(&'static [&'static str]),
    /// One of the operands is one of these, in any case.
    Operand(&'static [&'static str]),
    /// The first operand is one of these, in any case.
    FirstOperand(&'static [&'static str]),
    /// There are exactly this many operands.
    OperandCount(usize),
    /// There is at least one operand.
    AnyOperand,
    /// One of the operands is a drive, as `D:`.
    Drive,
    /// Operands are added when the command runs, so it acts on many things.
    OpenEnded,
    /// The pipeline hands it a whole tree.
    ListedTree,
    Any(&'static [Test]),
    All(&'static [Test]),
}

fn rows() -> impl Iterator<Item = &'static Row> {
    delete::ROWS.iter().chain(disk::ROWS)
}

/// Reports each rule that matches the command.
pub(crate) fn judge(walk: &mut Walk<'_>, invocation: &Invocation<'_>) {
    let Some((program, arguments)) = invocation.words.split_first() else {
        return;
    };
    let name = program_name(&program.text, invocation.dialect);
    if name.contains(UNKNOWN) || (program.glob && name.contains(['*', '?', '['])) {
        judge_hidden(walk, arguments, invocation.dialect);
        return;
    }
    for row in rows() {
        if row.dialects.contains(&invocation.dialect)
            && row.programs.iter().any(|pattern| is_named(&name, pattern))
            && row.matches(walk, arguments, invocation)
        {
            walk.report(row.rule);
        }
    }
}

/// Reports a program that cannot be known and is told to act recursively and by force.
fn judge_hidden(walk: &mut Walk<'_>, arguments: &[Word], dialect: Dialect) {
    let given = Arguments::read(arguments, &Grammar::GNU);
    let is_forced_deletion = match dialect {
        Dialect::Bash => given.has(&["r", "R", "recursive"]) && given.has(&["f", "force"]),
        Dialect::PowerShell => {
            let given = Arguments::read(arguments, &delete::REMOVE_ITEM);
            given.has(&["Recurse"]) && given.has(&["Force"])
        }
        Dialect::Cmd => Arguments::read(arguments, &Grammar::SLASH).has(&["s"]),
    };
    if is_forced_deletion || (given.has(&["rf", "fr"]) && dialect == Dialect::PowerShell) {
        walk.report(&HIDDEN_COMMAND);
    }
}

/// Returns whether a text that does not parse names, under whatever quoting, a program of the table.
pub(crate) fn mentions_program(text: &str) -> bool {
    let bare: String = text
        .chars()
        .filter(|c| !matches!(c, '\'' | '"' | '\\' | '^' | '`'))
        .collect::<String>()
        .to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    bare.split(|c| !is_name(c))
        .filter(|word| !word.is_empty())
        .any(|word| {
            let word = word
                .strip_suffix(".exe")
                .or_else(|| word.strip_suffix(".com"))
                .unwrap_or(word);
            rows().any(|row| row.programs.iter().any(|pattern| is_named(word, pattern)))
        })
}

fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

impl Row {
    fn matches(&self, walk: &Walk<'_>, words: &[Word], invocation: &Invocation<'_>) -> bool {
        let words = match &self.subcommand {
            None => words,
            Some(subcommand) => match subcommand.strip(words) {
                Some(after) => after,
                None => return false,
            },
        };
        let arguments = Arguments::read(words, self.grammar);
        if self.unless.holds(&arguments, invocation) {
            return false;
        }
        let hidden = self.hidden_option_asks && arguments.hidden_option;
        if !hidden && !self.when.holds(&arguments, invocation) {
            return false;
        }
        let is_exempt = self.temp_exempt
            && walk.is_plain
            && !invocation.open_ended
            && !invocation.feed.lists_tree
            && temp::covers(walk.context, &arguments.operands);
        !is_exempt
    }
}

impl Subcommand {
    fn strip<'a>(&self, words: &'a [Word]) -> Option<&'a [Word]> {
        let before = Arguments::read(words, self.before);
        let name = words.get(before.rest)?;
        self.names
            .contains(&name.text.as_str())
            .then(|| &words[before.rest + 1..])
    }
}

impl Test {
    fn holds(&self, arguments: &Arguments<'_>, invocation: &Invocation<'_>) -> bool {
        let is_among = |word: &Word, names: &[&str]| {
            names
                .iter()
                .any(|name| word.text.eq_ignore_ascii_case(name))
        };
        match self {
            Self::Always => true,
            Self::Option(names) => arguments.has(names),
            Self::Operand(names) => arguments.operands.iter().any(|word| is_among(word, names)),
            Self::FirstOperand(names) => arguments
                .operands
                .first()
                .is_some_and(|word| is_among(word, names)),
            Self::OperandCount(count) => arguments.operands.len() == *count,
            Self::AnyOperand => !arguments.operands.is_empty(),
            Self::Drive => arguments.operands.iter().any(|word| is_drive(&word.text)),
            Self::OpenEnded => invocation.open_ended,
            Self::ListedTree => invocation.feed.lists_tree,
            Self::Any(tests) => tests.iter().any(|test| test.holds(arguments, invocation)),
            Self::All(tests) => tests.iter().all(|test| test.holds(arguments, invocation)),
        }
    }
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':'] | [letter, b':', b'\\' | b'/'] if letter.is_ascii_alphabetic())
}
