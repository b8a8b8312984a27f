//! Simple commands: what they set, what they run, what they print.

use std::ops::Range;

use brush_parser::SourceSpan;
use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item};

use super::words::Cook;
use super::{Reader, byte_range, output};
use crate::invocation::{Dialect, Feed, Invocation, UNKNOWN, Word};
use crate::wrappers::join;

impl Reader<'_, '_> {
    /// Walks a simple command; returns what it prints, where that is constant.
    pub(super) fn simple(&mut self, simple: &ast::SimpleCommand, feed: &Feed) -> Option<String> {
        if self.walk.is_outermost() {
            self.walk.span = span_of(simple, self.text);
        }
        let feed = self.items(simple, feed);
        let raw: Vec<&ast::Word> = raw_words(simple).collect();
        let (words, alternatives) = self.cook(raw.iter().copied(), 0);
        let is_bare = simple.word_or_name.is_none();
        self.assignments(simple, is_bare);
        let printed = self.run(&words, &feed);
        for round in 1..alternatives {
            let mut cook = Cook::new(self.shell, self.walk.context, round);
            raw.iter().for_each(|word| cook.command_word(&word.value));
            let words = cook.take_words();
            self.run(&words, &feed);
        }
        printed
    }

    fn assignments(&mut self, simple: &ast::SimpleCommand, is_bare: bool) {
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            if let Item::AssignmentWord(assignment, _) = item {
                self.assign(assignment, is_bare);
            }
        }
    }

    /// Walks the substitutions of an assignment and, if it lasts, remembers the value.
    fn assign(&mut self, assignment: &ast::Assignment, lasts: bool) {
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => self.whole(&word.value),
            ast::AssignmentValue::Array(elements) => {
                let words = self.cook(elements.iter().map(|(_, word)| word), 0).0;
                Word::plain(join(&words))
            }
        };
        let name = match &assignment.name {
            ast::AssignmentName::VariableName(name) => name,
            ast::AssignmentName::ArrayElementName(name, index) => {
                self.codes_of(index);
                name
            }
        };
        if !lasts {
            return;
        }
        let before = self.shell.values(name).first().cloned().flatten();
        let value = value.is_constant().then_some(value.text);
        self.shell.assign(
            name,
            match (before, value) {
                (Some(before), Some(value)) if assignment.append => Some(before + &value),
                (None, Some(_)) if assignment.append => None,
                (_, value) => value,
            },
        );
    }

    /// Judges a command and follows what it does to the shell itself; returns what it prints.
    fn run(&mut self, words: &[Word], feed: &Feed) -> Option<String> {
        let (program, arguments) = words.split_first()?;
        if let Some(body) = self.shell.function(&program.text) {
            self.call(&program.text, &body, arguments, feed);
            return None;
        }
        match program.text.as_str() {
            "eval" => self.evaluate(&join(arguments), feed),
            "trap" => {
                if let Some(code) = arguments.iter().find(|word| !word.text.starts_with('-')) {
                    self.evaluate(&code.text, feed);
                }
            }
            "set" => {
                let dashes = arguments.iter().position(|word| word.text == "--");
                if let Some(dashes) = dashes {
                    self.shell.positional = Some(arguments[dashes + 1..].to_vec());
                }
            }
            "shift" => {
                if let Some(parameters) = self
                    .shell
                    .positional
                    .as_mut()
                    .filter(|list| !list.is_empty())
                {
                    parameters.remove(0);
                }
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => self.declare(arguments),
            "read" | "mapfile" | "readarray" | "unset" => {
                for name in arguments.iter().filter(|word| !word.text.starts_with('-')) {
                    self.shell.assign(&name.text, None);
                }
            }
            _ => self.walk.invoke(&Invocation {
                words,
                dialect: Dialect::Bash,
                feed,
                open_ended: false,
            }),
        }
        output::of_command(words, feed)
    }

    fn evaluate(&mut self, code: &str, feed: &Feed) {
        if code.chars().all(|c| c == UNKNOWN || c.is_whitespace()) {
            return;
        }
        let mut shell = std::mem::take(self.shell);
        self.code(code, &mut shell, feed);
        *self.shell = shell;
    }

    fn declare(&mut self, arguments: &[Word]) {
        for word in arguments {
            if let Some((name, value)) = word.text.split_once('=') {
                let value = word.is_constant().then(|| value.to_owned());
                self.shell.assign(name, value);
            }
        }
    }

    /// Walks a function's body with the parameters of this call. A function that calls
    /// itself has been seen already.
    fn call(&mut self, name: &str, body: &ast::FunctionBody, arguments: &[Word], feed: &Feed) {
        if self.shell.calling.iter().any(|calling| calling == name) {
            return;
        }
        let outer = self.shell.positional.replace(arguments.to_vec());
        self.shell.calling.push(name.to_owned());
        self.compound(&body.0, feed);
        self.shell.calling.pop();
        self.shell.positional = outer;
    }
}

fn raw_words(simple: &ast::SimpleCommand) -> impl Iterator<Item = &ast::Word> {
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
    let suffix = suffix.filter_map(|item| match item {
        Item::Word(word) | Item::AssignmentWord(_, word) => Some(word),
        Item::IoRedirect(_) | Item::ProcessSubstitution(..) => None,
    });
    simple.word_or_name.iter().chain(suffix)
}

/// Returns where a command's words stand in `text`, in bytes.
fn span_of(simple: &ast::SimpleCommand, text: &str) -> Option<Range<usize>> {
    let mut locations = raw_words(simple).filter_map(|word| word.loc.as_ref());
    let prefix = simple
        .prefix
        .iter()
        .flat_map(|prefix| &prefix.0)
        .find_map(|item| match item {
            Item::AssignmentWord(assignment, _) => Some(&assignment.loc),
            Item::IoRedirect(_) | Item::Word(_) | Item::ProcessSubstitution(..) => None,
        });
    let first: &SourceSpan = prefix.or_else(|| locations.next())?;
    let last = locations.last().unwrap_or(first);
    byte_range(text, first.start.index, last.end.index)
}
