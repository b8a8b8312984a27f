//! Cuts PowerShell into commands and their words.

use std::ops::Range;

use super::extent::closing;
use super::unknown;
use crate::invocation::{UNKNOWN, Word};

/// What an item is, which decides whether a command or an expression begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bare,
    Quoted,
    Variable,
    /// `(...)`, `$(...)`, `@(...)`.
    Group,
    /// `{...}`, `@{...}`.
    Block,
    /// Begins with `[`: a type, a cast, a static member.
    Bracketed,
}

/// A word, and the code inside it.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// The cooked word. For groups and blocks it is what they contain, as written.
    pub(super) word: Word,
    pub(super) codes: Vec<String>,
    /// The name, for a plain variable.
    pub(super) name: Option<String>,
}

/// What ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Pipe,
    Statement,
    Text,
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        self.at += if found { prefix.len() } else { 0 };
        found
    }

    /// Reads the next command: its items, what ends it, and where it stands.
    pub(super) fn command(
        &mut self,
        variables: &[(String, String)],
    ) -> (Vec<Item>, End, Range<usize>) {
        let mut items: Vec<Item> = Vec::new();
        let mut drops_next = false;
        self.skip_blanks();
        let start = self.at;
        let mut last = start;
        loop {
            self.skip_blanks();
            if let Some(end) = self.end(items.is_empty()) {
                return (items, end, start..last);
            }
            if matches!(self.peek(), Some(',' | ')' | '}')) {
                self.bump();
            } else if self.eat("&") {
                items.push(bare("&"));
            } else if let Some(operator) = self.assignment_to(&items) {
                self.at += operator.len();
                items.push(bare(operator));
            } else if self.eat_redirection() {
                drops_next = true;
            } else {
                let item = self.item(variables);
                let is_target = std::mem::take(&mut drops_next) && item.codes.is_empty();
                items.extend((!is_target).then_some(item));
            }
            last = self.at;
        }
    }

    /// Goes past what ends a command, if that is next. `&` first in a command calls it.
    fn end(&mut self, is_first: bool) -> Option<End> {
        match self.peek() {
            None => Some(End::Text),
            Some('\n' | '\r' | ';') => {
                self.bump();
                Some(End::Statement)
            }
            Some('|') => {
                self.bump();
                let end = if self.eat("|") {
                    End::Statement
                } else {
                    End::Pipe
                };
                self.skip_lines();
                Some(end)
            }
            Some('&') if !is_first || self.rest().starts_with("&&") => {
                self.bump();
                self.eat("&");
                Some(End::Statement)
            }
            Some(_) => None,
        }
    }

    /// Returns the operator that is next, if it assigns to the only item so far.
    fn assignment_to(&self, items: &[Item]) -> Option<&'static str> {
        let [target] = items else { return None };
        let is_target = matches!(target.kind, Kind::Variable | Kind::Bracketed);
        assignment(self.rest()).filter(|_| is_target)
    }

    fn eat_redirection(&mut self) -> bool {
        let rest = self.rest().trim_start_matches(['>', '<', '&']);
        let length = self.rest().len() - rest.len();
        self.at += length;
        length > 0
    }

    /// Skips blanks, comments and continued lines.
    fn skip_blanks(&mut self) {
        loop {
            if self.eat("`\r\n") || self.eat("`\n") {
                continue;
            }
            match self.peek() {
                Some(' ' | '\t' | '\u{a0}' | '\u{feff}') => drop(self.bump()),
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                Some('<') if self.rest().starts_with("<#") => {
                    self.at += self
                        .rest()
                        .find("#>")
                        .map_or(self.rest().len(), |length| length + 2);
                }
                _ => return,
            }
        }
    }

    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if !matches!(self.peek(), Some('\n' | '\r')) {
                return;
            }
            self.bump();
        }
    }

    fn item(&mut self, variables: &[(String, String)]) -> Item {
        match self.peek() {
            Some('{') => self.bracket(Kind::Block),
            Some('(') => self.bracket(Kind::Group),
            Some('@') if self.rest().starts_with("@{") => {
                self.bump();
                self.bracket(Kind::Block)
            }
            Some('@') if self.rest().starts_with("@(") => {
                self.bump();
                self.bracket(Kind::Group)
            }
            Some('@') if self.rest().starts_with("@'") || self.rest().starts_with("@\"") => {
                self.here_string()
            }
            _ => self.word(variables),
        }
    }

    /// Reads a bracket and all that it contains.
    fn bracket(&mut self, kind: Kind) -> Item {
        let inside = self.inside();
        Item {
            kind,
            word: Word::plain(inside),
            codes: vec![inside.to_owned()],
            name: None,
        }
    }

    /// Goes past the bracket that begins here; returns what it contains.
    fn inside(&mut self) -> &'a str {
        let start = self.at + 1;
        let end = closing(self.text, self.at);
        self.at = (end + 1).min(self.text.len());
        self.text.get(start..end).unwrap_or_default()
    }

    fn here_string(&mut self) -> Item {
        let quote = &self.rest()[1..2];
        let start = self.at + 2;
        let length = self.text[start..].find(&format!("\n{quote}@"));
        let end = length.map_or(self.text.len(), |length| start + length);
        self.at = length.map_or(self.text.len(), |_| end + 3);
        let body = &self.text[start..end];
        let mut item = Item {
            kind: Kind::Quoted,
            word: Word::plain(body),
            codes: Vec::new(),
            name: None,
        };
        item.word.quoted = true;
        if quote == "\"" {
            let mut lexer = Lexer::new(body);
            item.word.text.clear();
            while let Some(c) = lexer.peek() {
                lexer.string_char(c, &[], &mut item);
            }
        }
        item
    }

    /// Reads a word that is not a bracket, up to what ends it.
    fn word(&mut self, variables: &[(String, String)]) -> Item {
        let kind = match self.peek() {
            Some(c) if is_quote(c) => Kind::Quoted,
            Some('$') if self.rest().starts_with("$(") => Kind::Group,
            Some('$') => Kind::Variable,
            Some('[') => Kind::Bracketed,
            _ => Kind::Bare,
        };
        let mut item = Item {
            kind,
            word: Word::default(),
            codes: Vec::new(),
            name: None,
        };
        item.word.quoted = kind == Kind::Quoted;
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '\r' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | ',' | '>'
                | '<' => break,
                _ if kind == Kind::Variable
                    && self.at > start
                    && assignment(self.rest()).is_some() =>
                {
                    break;
                }
                '`' => self.escaped(&mut item),
                '$' => self.dollar(variables, &mut item),
                '\u{2013}'..='\u{2015}' => {
                    self.bump();
                    item.word.text.push('-');
                }
                _ if is_quote(c) => self.string(c, variables, &mut item),
                _ => {
                    self.bump();
                    item.word.glob |= matches!(c, '*' | '?');
                    item.word.text.push(c);
                }
            }
        }
        // Whatever it is, a word is at least one character, so that reading ends.
        if self.at == start {
            self.bump();
        }
        let written = &self.text[start..self.at];
        if kind == Kind::Variable {
            let name = written.trim_start_matches('$').trim_matches(['{', '}']);
            item.name = name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '_')
                .then(|| name.to_owned());
        }
        // `& $command` is unknown as a whole; `$a.b` is not a path below one.
        item
    }

    fn escaped(&mut self, item: &mut Item) {
        self.bump();
        match self.bump() {
            Some('\n') | None => item.word.text.push(' '),
            Some('n') if item.word.quoted => item.word.text.push('\n'),
            Some(c) => item.word.text.push(c),
        }
    }

    fn string(&mut self, quote: char, variables: &[(String, String)], item: &mut Item) {
        self.bump();
        let is_double = is_double_quote(quote);
        let ends = |c: char| {
            if is_double {
                is_double_quote(c)
            } else {
                is_quote(c) && !is_double_quote(c)
            }
        };
        while let Some(c) = self.peek() {
            match ends(c) {
                false if is_double => self.string_char(c, variables, item),
                false => item.word.text.extend(self.bump()),
                true => {
                    self.bump();
                    // A doubled quote is one of the string's characters.
                    if !self.peek().is_some_and(ends) {
                        return;
                    }
                    item.word.text.extend(self.bump());
                }
            }
        }
    }

    /// Reads one character of a double-quoted string, or what it begins.
    fn string_char(&mut self, c: char, variables: &[(String, String)], item: &mut Item) {
        match c {
            '`' => self.escaped(item),
            '$' => self.dollar(variables, item),
            _ => {
                self.bump();
                item.word.text.push(c);
            }
        }
    }

    /// Reads `$name`, `${name}`, `$env:NAME` or `$(...)`.
    fn dollar(&mut self, variables: &[(String, String)], item: &mut Item) {
        self.bump();
        match self.peek() {
            Some('(') => {
                let code = self.inside().to_owned();
                item.codes.push(code);
                item.word.text.push(UNKNOWN);
            }
            Some('{') => {
                let name = self.inside();
                insert_variable(name, variables, item);
            }
            _ => {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '?' | '^' | '$');
                let mut length = self
                    .rest()
                    .find(|c| !is_name(c))
                    .unwrap_or(self.rest().len());
                let after = &self.rest()[length..];
                if length > 0 && after.starts_with(':') && after[1..].starts_with(is_name) {
                    let scoped = &after[1..];
                    length += 1 + scoped.find(|c| !is_name(c)).unwrap_or(scoped.len());
                }
                let name = &self.rest()[..length];
                self.at += length;
                insert_variable(name, variables, item);
            }
        }
    }
}

/// Returns the operator of assignment that `text` begins with.
fn assignment(text: &str) -> Option<&'static str> {
    let operators = ["+=", "-=", "*=", "/=", "%=", "??=", "="];
    operators
        .into_iter()
        .find(|operator| text.starts_with(operator))
}

fn bare(text: &str) -> Item {
    Item {
        kind: Kind::Bare,
        word: Word::plain(text),
        codes: Vec::new(),
        name: None,
    }
}

fn insert_variable(name: &str, variables: &[(String, String)], item: &mut Item) {
    let known = variables
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    match known {
        Some((_, value)) => item.word.text.push_str(value),
        None if ["true", "false", "null"]
            .iter()
            .any(|constant| constant.eq_ignore_ascii_case(name)) =>
        {
            item.word.text.push('$');
            item.word.text.push_str(&name.to_ascii_lowercase());
        }
        None if name.is_empty() => item.word.text.push('$'),
        None => item.word.text.push_str(&unknown().text),
    }
}

fn is_double_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}'..='\u{201e}')
}

fn is_quote(c: char) -> bool {
    is_double_quote(c) || matches!(c, '\'' | '\u{2018}'..='\u{201b}')
}
