//! `$name`, `${...}` and the positional parameters.

use super::{Cook, MAX_NESTING, Place, name_length};
use crate::finding::TOO_DEEP;

impl Cook<'_> {
    /// Cooks the inside of `${...}`.
    pub(super) fn parameter(&mut self, inside: &str, place: Place) {
        let name = match inside.bytes().next() {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                &inside[..name_length(inside)]
            }
            Some(byte) if byte.is_ascii_digit() => {
                &inside[..inside.bytes().take_while(u8::is_ascii_digit).count()]
            }
            Some(b'@' | b'*') => &inside[..1],
            _ => {
                self.collect_codes(inside);
                self.unknown(place);
                return;
            }
        };
        let operation = &inside[name.len()..];
        if matches!(operation, "[@]" | "[*]") {
            self.array(name, place);
            return;
        }
        let is_set = self
            .shell
            .values(name)
            .iter()
            .any(|value| value.as_deref() != Some(""));
        let fallback = [":-", ":=", "-", "="]
            .iter()
            .find_map(|operator| operation.strip_prefix(operator));
        let alternative = [":+", "+"]
            .iter()
            .find_map(|operator| operation.strip_prefix(operator));
        match (fallback, alternative) {
            _ if operation.is_empty() => self.variable(name, place),
            (Some(text), _) if !is_set => self.nested(text, place),
            (Some(text), _) => {
                self.collect_codes(text);
                self.variable(name, place);
            }
            (None, Some(text)) => self.nested(text, place),
            (None, None) => {
                self.collect_codes(operation);
                self.unknown(place);
            }
        }
    }

    /// Inserts all elements of an array; each is a word, even between quotes.
    fn array(&mut self, name: &str, place: Place) {
        let place = if place == Place::DoubleQuoted {
            Place::Bare
        } else {
            place
        };
        self.variable(name, place);
    }

    fn nested(&mut self, text: &str, place: Place) {
        if self.nesting >= MAX_NESTING {
            self.found.refused = Some(&TOO_DEEP);
            self.unknown(place);
            return;
        }
        self.nesting += 1;
        self.cook(text, place);
        self.nesting -= 1;
    }

    pub(super) fn variable(&mut self, name: &str, place: Place) {
        if name == "@" || name == "*" || name.starts_with(|c: char| c.is_ascii_digit()) {
            self.positional(name, place);
            return;
        }
        let values = self.shell.values(name);
        self.alternatives = self.alternatives.max(values.len());
        let value = values.get(self.round.min(values.len().saturating_sub(1)));
        match (value, name) {
            (Some(Some(text)), _) => self.insert(text, place),
            (None, "IFS") => self.insert(" \t\n", place),
            (None, "HOME") if self.context.home.is_some() => {
                self.insert(self.context.home.unwrap_or_default(), place);
            }
            _ => self.unknown(place),
        }
    }

    fn positional(&mut self, name: &str, place: Place) {
        let Some(parameters) = &self.shell.positional else {
            self.unknown(place);
            return;
        };
        if let Ok(number) = name.parse::<usize>() {
            match number
                .checked_sub(1)
                .and_then(|index| parameters.get(index))
            {
                Some(word) => self.insert(&word.text, place),
                None if number == 0 => self.unknown(place),
                None => {}
            }
            return;
        }
        for (index, word) in parameters.iter().enumerate() {
            if index > 0 && place != Place::Whole {
                self.finish_word();
            }
            self.insert(&word.text, place);
            self.started |= place == Place::DoubleQuoted;
        }
    }
}
