//! Programs that run other programs: what they would run is judged too.
//!
//! Like the families this is a table. Most wrappers take options, a few operands of
//! their own, and then a command; the rest have a [`Run`] of their own.

mod interpreters;
mod table;

use std::borrow::Cow;

use crate::classify::Walk;
use crate::invocation::{Dialect, Feed, Invocation, UNKNOWN, Word, program_name};
use crate::options::{Arguments, Grammar};
use table::{LEADING, WRAPPERS};

struct Wrapper {
    programs: &'static [&'static str],
    /// The words between the program and the wrapper's own options, as `exec` in `docker exec`.
    subcommand: &'static [&'static str],
    options: &'static Grammar,
    /// How many operands stand before the command, as the duration of `timeout`.
    skip: usize,
    /// Options under which nothing runs, as `command -v`.
    unless: &'static [&'static str],
    run: Run,
}

#[derive(Clone, Copy)]
enum Run {
    /// The remaining words are a command.
    Command,
    /// The remaining words are a command whose operands come from elsewhere.
    OpenEnded,
    /// The remaining words, joined, are code.
    Code(Dialect),
    /// The value of one of these options is code, and the remaining words are a command.
    CodeOption(&'static [&'static str]),
    /// As [`Run::Command`], after `NAME=value` words; `-S` holds a whole command line.
    Env,
    /// The command gets its operands from the standard input.
    Xargs,
    /// Commands follow certain options, up to `;` or `+`.
    Exec(&'static [&'static str]),
    /// A shell: `-c TEXT`, or code from the standard input.
    Shell,
    PowerShell,
    Cmd,
    Git,
}

/// Judges what the command would run, if it runs other commands.
pub(crate) fn unwrap(walk: &mut Walk<'_>, invocation: &Invocation<'_>) {
    let Some((program, arguments)) = invocation.words.split_first() else {
        return;
    };
    let name = program_name(&program.text, invocation.dialect);
    for wrapper in WRAPPERS
        .iter()
        .filter(|wrapper| wrapper.programs.contains(&name.as_str()))
    {
        let Some(words) = wrapper.strip_subcommand(arguments) else {
            continue;
        };
        wrapper.run(walk, words, invocation);
    }
}

impl Wrapper {
    fn strip_subcommand<'a>(&self, mut words: &'a [Word]) -> Option<&'a [Word]> {
        for expected in self.subcommand {
            let before = Arguments::read(
                words,
                if self.options.style == LEADING.style {
                    self.options
                } else {
                    &LEADING
                },
            );
            let found = words.get(before.rest)?;
            if found.text != *expected {
                return None;
            }
            words = &words[before.rest + 1..];
        }
        Some(words)
    }

    fn run(&self, walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
        let options = Arguments::read(words, self.options);
        if options.has(self.unless) {
            return;
        }
        let rest = self.command(words, &options);
        match self.run {
            Run::Command => walk.invoke_words(invocation, rest),
            Run::OpenEnded => run_open_ended(walk, rest, invocation),
            Run::Code(dialect) => run_code(walk, rest, dialect, invocation.feed),
            Run::CodeOption(names) => {
                if let Some(code) = options.value(names) {
                    walk.code(code, Dialect::Bash, invocation.feed);
                }
                walk.invoke_words(invocation, rest);
            }
            Run::Env => run_env(walk, rest, &options, invocation),
            Run::Xargs => run_xargs(walk, rest, invocation),
            Run::Exec(starts) => run_exec(walk, words, starts, invocation),
            Run::Shell => interpreters::run_shell(walk, words, invocation),
            Run::PowerShell => interpreters::run_powershell(walk, words, invocation),
            Run::Cmd => interpreters::run_cmd(walk, words, invocation),
            Run::Git => interpreters::run_git(walk, words, invocation),
        }
    }

    /// Returns the words after the wrapper's options and its own operands.
    fn command<'a>(&self, words: &'a [Word], options: &Arguments<'a>) -> &'a [Word] {
        let mut rest = words.get(options.rest + self.skip..).unwrap_or_default();
        // `docker exec c -- rm`, `kubectl exec pod -it -- rm`, `timeout 5 -- rm`.
        if self.skip > 0
            && let Some(dashes) = rest.iter().position(|word| word.text == "--")
            && rest[..dashes].iter().all(|word| word.text.starts_with('-'))
        {
            rest = &rest[dashes + 1..];
        }
        rest
    }
}

fn run_code(walk: &mut Walk<'_>, words: &[Word], dialect: Dialect, feed: &Feed) {
    if !words.is_empty() {
        walk.code(&join(words), dialect, feed);
    }
}

/// Judges a command that gets operands from elsewhere; `:::` ends it, as for `parallel`.
fn run_open_ended(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    let end = words
        .iter()
        .position(|word| word.text.starts_with(":::"))
        .unwrap_or(words.len());
    let words = &words[..end];
    walk.invoke_words(
        &Invocation {
            open_ended: true,
            ..*invocation
        },
        words,
    );
    if let [code] = words {
        walk.code(&code.text, Dialect::Bash, &Feed::default());
    }
}

fn run_env(
    walk: &mut Walk<'_>,
    words: &[Word],
    options: &Arguments<'_>,
    invocation: &Invocation<'_>,
) {
    if let Some(line) = options.value(&["S", "split-string"]) {
        walk.code(
            &format!("{line} {}", join(words)),
            Dialect::Bash,
            invocation.feed,
        );
        return;
    }
    let command = words
        .iter()
        .position(|word| !is_assignment(&word.text))
        .unwrap_or(words.len());
    walk.invoke_words(invocation, &words[command..]);
}

fn run_xargs(walk: &mut Walk<'_>, words: &[Word], invocation: &Invocation<'_>) {
    let mut words = Cow::Borrowed(words);
    let feed = Feed::default();
    let is_known = invocation.feed.text.is_some();
    if let Some(text) = &invocation.feed.text {
        let added = text
            .split_ascii_whitespace()
            .map(|part| Word::plain(part.trim_matches(['\'', '"'])));
        words.to_mut().extend(added);
    }
    let open_ended = invocation.open_ended || !is_known;
    walk.invoke_words(
        &Invocation {
            open_ended,
            feed: &feed,
            ..*invocation
        },
        &words,
    );
}

/// Judges the commands after `find -exec` and its like.
fn run_exec(walk: &mut Walk<'_>, words: &[Word], starts: &[&str], invocation: &Invocation<'_>) {
    let mut from = 0;
    while let Some(at) = words[from..]
        .iter()
        .position(|word| starts.contains(&word.text.as_str()))
    {
        let start = from + at + 1;
        let length = words[start..]
            .iter()
            .position(|word| word.text == ";" || word.text == "+");
        from = length.map_or(words.len(), |length| start + length);
        walk.invoke_words(
            &Invocation {
                open_ended: true,
                ..*invocation
            },
            &words[start..from],
        );
    }
}

/// Returns whether the word sets a variable of the command that follows.
pub(crate) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let mut letters = name.chars();
        letters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns the words as one text, as shells join the arguments of `eval`.
pub(crate) fn join(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}

/// Returns whether nothing of the code is known, so that there is nothing to judge.
fn is_unknown(code: &str) -> bool {
    code.chars().all(|c| c == UNKNOWN || c.is_whitespace())
}
