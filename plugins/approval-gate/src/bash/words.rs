//! Cooks words: quotes, escapes, expansions and splitting, as far as all is constant.

mod parameters;

use super::braces;
use super::extent::{ansi_c, closing, closing_backtick, unescape_backticks};
use super::shell::Shell;
use crate::classify::Context;
use crate::finding::{Rule, TOO_DEEP, TOO_LARGE};
use crate::invocation::{UNKNOWN, Word};

/// How deep `${a:-${b:-...}}` is followed.
const MAX_NESTING: usize = 8;

/// How many words one command may expand to, and how long expansions may make one.
const MAX_WORDS: usize = 1 << 14;
const MAX_WORD: usize = 1 << 16;

/// Where text stands, which decides what is special in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Bare,
    /// Bare, in an assignment or after a redirection: not split.
    Whole,
    DoubleQuoted,
    HereDocument,
}

/// Turns raw words into cooked ones and collects the code that doing so would execute.
pub(super) struct Cook<'a> {
    shell: &'a Shell,
    context: &'a Context<'a>,
    /// Which of a variable's values is taken, if it has several.
    round: usize,
    words: Vec<Word>,
    draft: Word,
    /// Whether the draft is a word even if it is empty.
    started: bool,
    nesting: usize,
    found: Found,
    /// The most values that a variable met so far has.
    pub(super) alternatives: usize,
}

/// What cooking meets that is not part of a word.
#[derive(Default)]
pub(super) struct Found {
    /// The texts of command substitutions.
    pub(super) codes: Vec<String>,
    /// Why something was not read, if so.
    pub(super) refused: Option<&'static Rule>,
}

impl<'a> Cook<'a> {
    pub(super) fn new(shell: &'a Shell, context: &'a Context<'a>, round: usize) -> Self {
        Self {
            shell,
            context,
            round,
            words: Vec::new(),
            draft: Word::default(),
            started: false,
            nesting: 0,
            found: Found::default(),
            alternatives: 1,
        }
    }

    /// Cooks a word of a command into as many words as it becomes.
    pub(super) fn command_word(&mut self, raw: &str) {
        if !raw.bytes().any(is_special) {
            self.words.push(Word::plain(raw));
            return;
        }
        match braces::expand(raw) {
            Some(expanded) => expanded.iter().for_each(|raw| self.cook_split(raw)),
            None => self.cook_split(raw),
        }
    }

    pub(super) fn found(&mut self) -> Found {
        std::mem::take(&mut self.found)
    }

    pub(super) fn take_words(&mut self) -> Vec<Word> {
        std::mem::take(&mut self.words)
    }

    /// Cooks a word that stays one: an assigned value, a target of redirection.
    pub(super) fn whole(&mut self, raw: &str) -> Word {
        self.cook(raw, Place::Whole);
        self.started = false;
        std::mem::take(&mut self.draft)
    }

    /// Cooks the body of a here-document whose tag is not quoted.
    pub(super) fn heredoc(&mut self, raw: &str) -> Word {
        self.cook(raw, Place::HereDocument);
        self.started = false;
        std::mem::take(&mut self.draft)
    }

    fn cook_split(&mut self, raw: &str) {
        self.cook(raw, Place::Bare);
        self.finish_word();
    }

    fn finish_word(&mut self) {
        let word = std::mem::take(&mut self.draft);
        if self.words.len() >= MAX_WORDS {
            self.found.refused = Some(&TOO_LARGE);
            return;
        }
        if self.started || !word.text.is_empty() {
            self.words.push(word);
        }
        self.started = false;
    }

    fn cook(&mut self, raw: &str, place: Place) {
        let is_bare = matches!(place, Place::Bare | Place::Whole);
        let mut at = 0;
        while let Some(c) = raw[at..].chars().next() {
            let after = at + c.len_utf8();
            at = match c {
                '\\' => self.escape(raw, after, place),
                '\'' if is_bare => {
                    let end = raw[after..]
                        .find('\'')
                        .map_or(raw.len(), |length| after + length);
                    self.quote(&raw[after..end]);
                    (end + 1).min(raw.len())
                }
                '"' if is_bare => self.double_quoted(raw, after),
                '"' if place == Place::DoubleQuoted => return,
                // Only the text of an expansion has blanks that are not quoted.
                ' ' | '\t' | '\n' if place == Place::Bare => {
                    self.finish_word();
                    after
                }
                '$' => self.dollar(raw, at, place),
                '`' => self.backticks(raw, at, place),
                '~' if is_bare && at == 0 => self.tilde(raw, after),
                UNKNOWN => {
                    self.unknown(place);
                    after
                }
                _ => {
                    self.draft.glob |= is_bare && matches!(c, '*' | '?' | '[');
                    self.draft.text.push(c);
                    after
                }
            };
        }
    }

    fn quote(&mut self, text: &str) {
        self.mark_quoted();
        self.draft.text.push_str(text);
    }

    fn mark_quoted(&mut self) {
        self.draft.quoted |= self.draft.text.is_empty();
        self.started = true;
    }

    fn escape(&mut self, raw: &str, after: usize, place: Place) -> usize {
        let Some(c) = raw[after..].chars().next() else {
            self.draft.text.push('\\');
            return after;
        };
        let end = after + c.len_utf8();
        let is_escape = match place {
            Place::Bare | Place::Whole => true,
            Place::DoubleQuoted => matches!(c, '$' | '`' | '"' | '\\' | '\n'),
            Place::HereDocument => matches!(c, '$' | '`' | '\\' | '\n'),
        };
        if !is_escape {
            self.draft.text.push('\\');
        }
        if c != '\n' || !is_escape {
            self.draft.text.push(c);
        }
        end
    }

    /// Cooks from inside a double quote to its end; returns the index after it.
    fn double_quoted(&mut self, raw: &str, start: usize) -> usize {
        self.mark_quoted();
        let end = double_quote_end(raw, start);
        self.cook(&raw[start..end], Place::DoubleQuoted);
        (end + 1).min(raw.len())
    }

    fn tilde(&mut self, raw: &str, after: usize) -> usize {
        match self.context.home {
            Some(home) if raw[after..].is_empty() || raw[after..].starts_with('/') => {
                self.draft.text.push_str(home)
            }
            _ => self.draft.text.push('~'),
        }
        after
    }

    fn unknown(&mut self, place: Place) {
        self.draft.text.push(UNKNOWN);
        self.draft.splits |= place == Place::Bare;
        self.started |= place == Place::DoubleQuoted;
    }

    fn backticks(&mut self, raw: &str, at: usize, place: Place) -> usize {
        let Some(end) = closing_backtick(raw, at) else {
            self.draft.text.push('`');
            return at + 1;
        };
        let code = unescape_backticks(&raw[at + 1..end]);
        self.substitute(code, place);
        end + 1
    }

    fn substitute(&mut self, code: String, place: Place) {
        match super::output::of_simple_code(&code) {
            Some(text) => self.insert(&text, place),
            None => self.unknown(place),
        }
        self.found.codes.push(code);
    }

    /// Cooks what the `$` at `at` begins; returns the index after it.
    fn dollar(&mut self, raw: &str, at: usize, place: Place) -> usize {
        let next = at + 1;
        let is_bare = matches!(place, Place::Bare | Place::Whole);
        match raw.as_bytes().get(next) {
            Some(b'(') => self.parenthesised(raw, next, place),
            Some(b'{') => match closing(raw, next) {
                Some(end) => {
                    self.parameter(&raw[next + 1..end], place);
                    end + 1
                }
                None => self.literal_dollar(next),
            },
            Some(b'[') => match raw[next..].find(']') {
                Some(length) => {
                    self.collect_codes(&raw[next + 1..next + length]);
                    self.unknown(Place::Whole);
                    next + length + 1
                }
                None => self.literal_dollar(next),
            },
            Some(b'\'') if is_bare => {
                self.mark_quoted();
                ansi_c(raw, next + 1, &mut self.draft.text)
            }
            Some(b'"') if is_bare => self.double_quoted(raw, next + 1),
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
                let length = name_length(&raw[next..]);
                self.variable(&raw[next..next + length], place);
                next + length
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(byte) => {
                self.variable(&raw[next..=next], place);
                next + 1
            }
            _ => self.literal_dollar(next),
        }
    }

    fn literal_dollar(&mut self, next: usize) -> usize {
        self.draft.text.push('$');
        next
    }

    /// Cooks `$(...)` or `$((...))`, whose parenthesis is at `open`.
    fn parenthesised(&mut self, raw: &str, open: usize, place: Place) -> usize {
        let end = closing(raw, open).unwrap_or(raw.len());
        let inside = &raw[open + 1..end];
        let is_arithmetic =
            inside.starts_with('(') && closing(raw, open + 1).is_some_and(|inner| inner + 1 == end);
        if is_arithmetic {
            self.collect_codes(&inside[1..inside.len() - 1]);
            self.unknown(Place::Whole);
        } else {
            self.substitute(inside.to_owned(), place);
        }
        (end + 1).min(raw.len())
    }

    /// Collects the substitutions in a text whose own value is of no interest.
    pub(super) fn collect_codes(&mut self, text: &str) {
        if !text.contains(['$', '`']) {
            return;
        }
        if self.nesting >= MAX_NESTING {
            self.found.refused = Some(&TOO_DEEP);
            return;
        }
        let draft = std::mem::take(&mut self.draft);
        let started = self.started;
        self.nesting += 1;
        self.cook(text, Place::HereDocument);
        self.nesting -= 1;
        self.draft = draft;
        self.started = started;
    }

    /// Inserts the value of an expansion, split into words where that happens.
    fn insert(&mut self, value: &str, place: Place) {
        if self.draft.text.len() + value.len() > MAX_WORD {
            self.unknown(place);
            return;
        }
        if place != Place::Bare {
            self.draft.text.push_str(value);
            return;
        }
        for c in value.chars() {
            match c {
                ' ' | '\t' | '\n' => self.finish_word(),
                UNKNOWN => self.unknown(place),
                _ => {
                    self.draft.glob |= matches!(c, '*' | '?' | '[');
                    self.draft.text.push(c);
                }
            }
        }
    }
}

fn is_special(byte: u8) -> bool {
    // The last one begins UNKNOWN.
    matches!(
        byte,
        b'\\' | b'\'' | b'"' | b'$' | b'`' | b'~' | b'*' | b'?' | b'[' | b'{' | 0xf4
    )
}

fn name_length(text: &str) -> usize {
    text.bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count()
}

/// Returns the index of the `"` that ends the quote whose inside starts at `start`.
fn double_quote_end(raw: &str, start: usize) -> usize {
    let bytes = raw.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        at = match bytes[at] {
            b'"' => return at,
            b'\\' => at + 2,
            b'`' => closing_backtick(raw, at).map_or(bytes.len(), |end| end + 1),
            b'$' if matches!(bytes.get(at + 1), Some(b'(' | b'{')) => {
                closing(raw, at + 1).map_or(at + 2, |end| end + 1)
            }
            _ => at + 1,
        };
    }
    bytes.len()
}
