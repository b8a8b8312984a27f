//! The walk over everything a command would execute.

use std::ops::Range;

use crate::bash;
use crate::cmd;
use crate::families;
use crate::finding::{Finding, Rule, TOO_DEEP, TOO_LARGE};
use crate::invocation::{Dialect, Feed, Invocation, Word};
use crate::powershell;
use crate::temp;
use crate::wrappers;

/// How many bytes of code are read for one command, the texts inside it that are code of
/// their own counted again. Parsing 256 KiB takes most of a guard's guest time.
pub const MAX_CODE_BYTES: usize = 256 * 1024;

/// How deep code inside code, groups inside groups and wrappers inside wrappers are
/// followed. Half the depth at which the walk would exhaust a guest's stack of 512 KiB.
pub const MAX_DEPTH: usize = 48;

/// How many commands and groups are looked at. Functions that call each other twice
/// over would otherwise take for ever.
const MAX_STEPS: usize = 1 << 16;

/// What is known of the place a command would run in.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The working folder.
    pub cwd: &'a str,
    /// The user's home folder.
    pub home: Option<&'a str>,
    /// The workspace.
    pub roots: &'a [String],
    /// The folders for temporary files.
    pub temp_roots: &'a [String],
}

/// Returns each rule that the command matches, the most specific first, each once.
///
/// Never fails: what is too long, too deep or does not parse is a finding too.
pub fn classify(text: &str, dialect: Dialect, context: &Context<'_>) -> Vec<Finding> {
    let mut walk = Walk {
        context,
        is_plain: temp::is_plain(text),
        span: None,
        findings: Vec::new(),
        bytes_left: MAX_CODE_BYTES,
        steps_left: MAX_STEPS,
        depth: 0,
        texts: 0,
    };
    walk.code(text, dialect, &Feed::default());
    let mut findings = walk.findings;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.rule.specificity));
    findings
}

/// The state of judging one command.
pub(crate) struct Walk<'a> {
    pub(crate) context: &'a Context<'a>,
    /// Whether the whole text is one plain command, so that temporary files may be exempt.
    pub(crate) is_plain: bool,
    /// The command being judged, in bytes of the outermost text.
    pub(crate) span: Option<Range<usize>>,
    findings: Vec<Finding>,
    bytes_left: usize,
    steps_left: usize,
    depth: usize,
    /// How many texts are being read, each one inside the one before.
    texts: usize,
}

impl Walk<'_> {
    /// Judges a text that would be executed.
    pub(crate) fn code(&mut self, text: &str, dialect: Dialect, feed: &Feed) {
        self.enter(text, |walk| match dialect {
            Dialect::Bash => bash::walk(walk, text, &[], feed),
            Dialect::PowerShell => powershell::walk(walk, text, feed),
            Dialect::Cmd => cmd::walk(walk, text, feed),
        });
    }

    /// Judges the text of `sh -c`, which `positional` follow.
    pub(crate) fn shell_code(&mut self, text: &str, positional: &[Word], feed: &Feed) {
        self.enter(text, |walk| bash::walk(walk, text, positional, feed));
    }

    /// Runs `read` on a text that is code, if there is budget left for it.
    pub(crate) fn enter(&mut self, text: &str, read: impl FnOnce(&mut Self)) {
        match self.bytes_left.checked_sub(text.len()) {
            Some(left) => {
                self.bytes_left = left;
                self.texts += 1;
                self.deeper(read);
                self.texts -= 1;
            }
            None => self.report(&TOO_LARGE),
        }
    }

    /// Runs `read` one level deeper, unless that is too deep.
    pub(crate) fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH {
            self.report(&TOO_DEEP);
            return;
        }
        let Some(left) = self.steps_left.checked_sub(1) else {
            self.report(&TOO_LARGE);
            return;
        };
        self.steps_left = left;
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// Returns whether the text being read is the outermost one, so that spans refer to it.
    pub(crate) fn is_outermost(&self) -> bool {
        self.texts == 1
    }

    /// Judges one program about to run, and whatever it runs.
    pub(crate) fn invoke(&mut self, invocation: &Invocation<'_>) {
        self.deeper(|walk| {
            families::judge(walk, invocation);
            wrappers::unwrap(walk, invocation);
        });
    }

    /// Judges what runs when `words` are run in place of the words of `outer`.
    pub(crate) fn invoke_words(&mut self, outer: &Invocation<'_>, words: &[Word]) {
        if let Some(inner) = outer.with_words(words) {
            self.invoke(&inner);
        }
    }

    /// Adds a finding about the command being judged, once for each rule.
    pub(crate) fn report(&mut self, rule: &'static Rule) {
        if self
            .findings
            .iter()
            .all(|finding| finding.rule.id != rule.id)
        {
            self.findings.push(Finding {
                rule,
                span: self.span.clone(),
            });
        }
    }
}
