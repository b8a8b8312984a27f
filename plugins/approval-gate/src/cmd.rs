//! The Windows command interpreter: a tokeniser for what `cmd /c` takes.

use crate::classify::Walk;
use crate::invocation::{Dialect, Feed, Invocation, MAX_VALUE, UNKNOWN, Word};
use crate::wrappers::join;

/// Builtins that may be followed by a switch without a blank, as in `rd/s/q x`.
const BUILTINS: &[&str] = &[
    "del", "erase", "rd", "rmdir", "copy", "move", "dir", "ren", "type", "echo", "cd", "md",
    "mkdir",
];

/// Judges a command line, or a batch of them.
pub(crate) fn walk(walk: &mut Walk<'_>, text: &str, feed: &Feed) {
    let mut reader = Reader {
        text,
        at: 0,
        variables: Vec::new(),
    };
    loop {
        let start = reader.at;
        let Some(words) = reader.command() else {
            return;
        };
        if walk.is_outermost() {
            let end = reader.at;
            let written = &text[start..end];
            let blanks = written.len() - written.trim_start().len();
            walk.span = Some(
                start + blanks
                    ..start
                        + written
                            .trim_end_matches(['&', '|', '\n', '\r', ' '])
                            .len()
                            .max(blanks),
            );
        }
        reader.remember(&words);
        run(walk, &words, feed);
    }
}

/// Judges a command after the words that lead to it are gone.
fn run(walk: &mut Walk<'_>, words: &[Word], feed: &Feed) {
    let Some((first, rest)) = words.split_first() else {
        return;
    };
    let bare = first.text.trim_start_matches(['@', '(']);
    if bare.len() != first.text.len() {
        let mut words = words.to_vec();
        if bare.is_empty() {
            words.remove(0);
        } else {
            words[0].text = bare.to_owned();
        }
        walk.deeper(|walk| run(walk, &words, feed));
        return;
    }
    match bare.to_ascii_lowercase().as_str() {
        "rem" | "set" => {}
        "if" => walk.deeper(|walk| run(walk, after_condition(rest), feed)),
        "else" | "do" => walk.deeper(|walk| run(walk, rest, feed)),
        "for" => {
            let body = rest
                .iter()
                .position(|word| word.text.eq_ignore_ascii_case("do"));
            if let Some(body) = body {
                // `in ('command')` loops over what the command prints.
                let list = join(&rest[..body]);
                let code = list
                    .split_once("('")
                    .and_then(|(_, code)| code.trim_end().strip_suffix("')"));
                if let Some(code) = code {
                    walk.code(code, Dialect::Cmd, feed);
                }
                walk.deeper(|walk| run(walk, &rest[body + 1..], feed));
            }
        }
        "start" => walk.deeper(|walk| run(walk, after_start(rest), feed)),
        "forfiles" => {
            let code = rest
                .iter()
                .position(|word| word.text.eq_ignore_ascii_case("/c"));
            if let Some(code) = code.and_then(|at| rest.get(at + 1)) {
                walk.code(&code.text, Dialect::Cmd, feed);
            }
        }
        _ if bare.starts_with(':') => {}
        _ => {
            let words = split_switches(words);
            walk.invoke(&Invocation {
                words: &words,
                dialect: Dialect::Cmd,
                feed,
                open_ended: false,
            });
        }
    }
}

/// Returns the words after the condition of `if`.
fn after_condition(words: &[Word]) -> &[Word] {
    let is = |word: &Word, names: &[&str]| {
        names
            .iter()
            .any(|name| word.text.eq_ignore_ascii_case(name))
    };
    let mut at = words
        .iter()
        .take_while(|word| is(word, &["/i", "not"]))
        .count();
    let operands = match (words.get(at), words.get(at + 1)) {
        (Some(word), _) if is(word, &["exist", "defined", "errorlevel", "cmdextversion"]) => 2,
        (_, Some(word)) if is(word, &["equ", "neq", "lss", "leq", "gtr", "geq"]) => 3,
        // `==` separates words, as blanks do.
        _ => 2,
    };
    at += operands;
    words.get(at..).unwrap_or_default()
}

/// Returns the words after the options of `start`: a quoted title, switches, a folder.
fn after_start(words: &[Word]) -> &[Word] {
    let mut at = usize::from(words.first().is_some_and(|word| word.quoted));
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('/')) {
        at += 1 + usize::from(word.text.eq_ignore_ascii_case("/d"));
    }
    words.get(at..).unwrap_or_default()
}

/// Splits `rd/s/q` into the builtin and its switches.
fn split_switches(words: &[Word]) -> Vec<Word> {
    let mut words = words.to_vec();
    let Some((name, switches)) = words[0].text.split_once('/') else {
        return words;
    };
    if BUILTINS
        .iter()
        .any(|builtin| builtin.eq_ignore_ascii_case(name))
    {
        let (name, switches) = (name.to_owned(), format!("/{switches}"));
        words[0].text = name;
        words.insert(1, Word::plain(switches));
    }
    words
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// What `set` made known on earlier lines.
    variables: Vec<(String, String)>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads the words of the next command, which may be none; returns `None` at the end.
    fn command(&mut self) -> Option<Vec<Word>> {
        self.peek()?;
        let mut line = Line::default();
        let mut quotes = false;
        while let Some(c) = self.next() {
            match c {
                '"' => {
                    quotes = !quotes;
                    line.word.quoted |= line.word.text.is_empty();
                    line.started = true;
                }
                '%' | '!' => self.variable(c, &mut line.word),
                _ if quotes && c != '\n' => line.word.text.push(c),
                '^' => line.word.text.extend(self.escaped()),
                '&' | '|' | '\n' if !(c == '&' && line.drops_next) => {
                    line.finish_word();
                    return Some(line.words);
                }
                ' ' | '\t' | '\r' | ',' | ';' | '=' | '&' => line.finish_word(),
                '<' | '>' => line.redirect(),
                _ => {
                    line.word.glob |= matches!(c, '*' | '?');
                    line.word.text.push(c);
                }
            }
        }
        line.finish_word();
        Some(line.words)
    }

    /// Reads what `^` protects; the end of a line is dropped.
    fn escaped(&mut self) -> Option<char> {
        if self.peek() == Some('\r') {
            self.next();
        }
        self.next().filter(|c| *c != '\n')
    }

    /// Reads what `%` or `!` begins: `%NAME%`, a loop's `%i` or `%%i`, or just itself.
    fn variable(&mut self, mark: char, word: &mut Word) {
        let rest = &self.text[self.at..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let named = line
            .split_once(mark)
            .filter(|(name, _)| !name.is_empty() && !name.contains([' ', '"']));
        if let Some((name, _)) = named {
            self.at += name.len() + mark.len_utf8();
            let known = self
                .variables
                .iter()
                .rev()
                .find(|(known, _)| known.eq_ignore_ascii_case(name));
            match known {
                Some((_, value)) => word.text.push_str(value),
                None => {
                    word.text.push(UNKNOWN);
                    word.splits = true;
                }
            }
            return;
        }
        if mark == '!' {
            word.text.push('!');
            return;
        }
        let doubled = rest.starts_with('%');
        let letter = rest[usize::from(doubled)..].chars().next();
        if let Some(letter) = letter.filter(|c| c.is_ascii_alphanumeric() || *c == '~' || *c == '*')
        {
            self.at += usize::from(doubled) + letter.len_utf8();
            word.text.push(UNKNOWN);
            return;
        }
        word.text.push('%');
    }

    fn remember(&mut self, words: &[Word]) {
        if let [set, name, values @ ..] = words
            && set.text.eq_ignore_ascii_case("set")
            && !values.is_empty()
        {
            let value = join(values);
            self.variables
                .retain(|(known, _)| !known.eq_ignore_ascii_case(&name.text));
            if value.len() <= MAX_VALUE {
                self.variables.push((name.text.clone(), value));
            }
        }
    }
}

/// A command being read.
#[derive(Default)]
struct Line {
    words: Vec<Word>,
    word: Word,
    /// Whether `word` is one even if it is empty.
    started: bool,
    /// Whether the next word is where a redirection leads.
    drops_next: bool,
}

impl Line {
    fn finish_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.started) && word.text.is_empty() {
            return;
        }
        if !std::mem::take(&mut self.drops_next) {
            self.words.push(word);
        }
    }

    /// A lone digit before a redirection is the handle that it redirects.
    fn redirect(&mut self) {
        if matches!(self.word.text.as_str(), "0" | "1" | "2") {
            self.word = Word::default();
        }
        self.finish_word();
        self.drops_next = true;
    }
}
