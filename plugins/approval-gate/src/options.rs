//! Reads a program's arguments into options and operands, by the habits of its family.

use crate::invocation::{UNKNOWN, Word};

/// How a program marks its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `-rf`, `--recursive`, `--`; options may follow operands.
    Gnu,
    /// The same, but the first operand ends the options, as for `env` or `ssh`.
    GnuLeading,
    /// `-delete`: one dash, whole words. Operands are those before the first option.
    Find,
    /// `-Recurse`, in any case and by any unambiguous prefix.
    PowerShell,
    /// `/s`, `/s/q`, in any case.
    Slash,
}

/// The options of a program, as far as reading its command line needs them.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(crate) style: Style,
    /// Short options that take a value: attached, or else the next word.
    pub(crate) short_values: &'static str,
    /// Long options whose value is the next word (unless `=` or `:` attaches it).
    pub(crate) long_values: &'static [&'static str],
    /// Other long options. PowerShell needs all of them, to tell which prefixes are
    /// unambiguous; GNU style those whose name another one continues.
    pub(crate) longs: &'static [&'static str],
    /// Options whose values are operands all the same, as `-LiteralPath`.
    pub(crate) operand_values: &'static [&'static str],
}

impl Grammar {
    pub(crate) const GNU: Self = Self::of(Style::Gnu);
    pub(crate) const LEADING: Self = Self::of(Style::GnuLeading);
    pub(crate) const FIND: Self = Self::of(Style::Find);
    pub(crate) const SLASH: Self = Self::of(Style::Slash);

    pub(crate) const fn of(style: Style) -> Self {
        Self {
            style,
            short_values: "",
            long_values: &[],
            longs: &[],
            operand_values: &[],
        }
    }

    pub(crate) const fn values(self, short: &'static str, long: &'static [&'static str]) -> Self {
        Self {
            short_values: short,
            long_values: long,
            ..self
        }
    }
}

/// An option as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given<'a> {
    /// The name without dashes or slash; PowerShell names are completed.
    pub(crate) name: &'a str,
    pub(crate) value: Option<&'a str>,
}

/// A command line, read.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'a> {
    pub(crate) options: Vec<Given<'a>>,
    pub(crate) operands: Vec<&'a Word>,
    /// Whether a word that stands where an option may stand could become one.
    pub(crate) hidden_option: bool,
    /// The index of the first word after the options, for styles that end them.
    pub(crate) rest: usize,
    longs: &'static [&'static str],
    folds_case: bool,
}

impl<'a> Arguments<'a> {
    /// Reads `words`, which do not include the program.
    pub(crate) fn read(words: &'a [Word], grammar: &'static Grammar) -> Self {
        let mut arguments = Self {
            rest: words.len(),
            longs: grammar.longs,
            folds_case: matches!(grammar.style, Style::PowerShell | Style::Slash),
            ..Self::default()
        };
        match grammar.style {
            Style::Gnu | Style::GnuLeading => arguments.read_gnu(words, grammar),
            Style::Find => arguments.read_find(words),
            Style::PowerShell => arguments.read_powershell(words, grammar),
            Style::Slash => arguments.read_slash(words),
        }
        arguments
    }

    /// Returns whether one of `names` was given. A name of one character is a short
    /// option; a longer one also matches by the prefixes that GNU programs accept.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options
            .iter()
            .any(|given| names.iter().any(|name| self.is(given.name, name)))
    }

    /// Returns the value of the first option among `names`.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&'a str> {
        let is_named = |given: &&Given<'a>| names.iter().any(|name| self.is(given.name, name));
        self.options
            .iter()
            .find(is_named)
            .and_then(|given| given.value)
    }

    fn is(&self, given: &str, name: &str) -> bool {
        if self.folds_case {
            return given.eq_ignore_ascii_case(name);
        }
        given == name
            || (given.len() > 1 && name.starts_with(given) && !self.longs.contains(&given))
    }

    fn read_gnu(&mut self, words: &'a [Word], grammar: &Grammar) {
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.text.as_str();
            if text == "--" {
                self.rest = index.min(self.rest);
                self.operands.extend(&words[index..]);
                return;
            }
            self.hidden_option |=
                word.may_become_option() && self.is_option_place(word, &words[index..]);
            if let Some(long) = text.strip_prefix("--") {
                index += self.push_long(long, words.get(index), grammar);
                continue;
            }
            if text.len() > 1 && text.starts_with('-') {
                index += self.push_cluster(&text[1..], words.get(index), grammar);
                continue;
            }
            self.rest = self.rest.min(index - 1);
            if grammar.style == Style::GnuLeading {
                self.operands.extend(&words[index - 1..]);
                return;
            }
            self.operands.push(word);
        }
    }

    /// A lone unknown word is most likely what the command is about, as in `rm $file`;
    /// one that stands before other words is where options stand, as in `rm $FLAGS x`.
    fn is_option_place(&self, word: &Word, after: &[Word]) -> bool {
        word.text.starts_with('-')
            || (self.operands.is_empty() && after.iter().any(Word::is_constant))
    }

    fn push_long(&mut self, long: &'a str, next: Option<&'a Word>, grammar: &Grammar) -> usize {
        if let Some((name, value)) = long.split_once('=') {
            self.options.push(Given {
                name,
                value: Some(value),
            });
            return 0;
        }
        let takes_value = grammar.long_values.contains(&long);
        let value = next.filter(|_| takes_value).map(|word| word.text.as_str());
        self.options.push(Given { name: long, value });
        usize::from(value.is_some())
    }

    fn push_cluster(
        &mut self,
        cluster: &'a str,
        next: Option<&'a Word>,
        grammar: &Grammar,
    ) -> usize {
        for (at, letter) in cluster.char_indices() {
            let end = at + letter.len_utf8();
            let name = &cluster[at..end];
            if !grammar.short_values.contains(letter) {
                self.options.push(Given { name, value: None });
                continue;
            }
            let attached = &cluster[end..];
            if !attached.is_empty() {
                self.options.push(Given {
                    name,
                    value: Some(attached),
                });
                return 0;
            }
            self.options.push(Given {
                name,
                value: next.map(|word| word.text.as_str()),
            });
            return usize::from(next.is_some());
        }
        0
    }

    fn read_find(&mut self, words: &'a [Word]) {
        let is_path = |word: &Word| !word.text.starts_with(['-', '(', '!']) || word.text == "-";
        let mut in_paths = true;
        for (index, word) in words.iter().enumerate() {
            if is_path(word) {
                self.operands.extend(in_paths.then_some(word));
                continue;
            }
            // `-H`, `-L`, `-P`, `-O3` and `-D x` stand before the paths.
            if in_paths && !matches!(word.text.as_str(), "-H" | "-L" | "-P") {
                in_paths = false;
                self.rest = index;
            }
            self.hidden_option |= word.may_become_option();
            let name = word.text.trim_start_matches('-');
            self.options.push(Given {
                name,
                value: words.get(index + 1).map(|w| w.text.as_str()),
            });
        }
    }

    fn read_powershell(&mut self, words: &'a [Word], grammar: &Grammar) {
        let mut index = 0;
        while let Some(word) = words.get(index) {
            index += 1;
            let text = word.text.as_str();
            if !word.quoted && text.starts_with('@') && text.len() > 1 {
                self.hidden_option = true;
                continue;
            }
            if word.quoted || text.len() < 2 || !text.starts_with('-') {
                self.rest = self.rest.min(index - 1);
                self.operands.push(word);
                continue;
            }
            let (given, attached) = match text[1..].split_once(':') {
                Some((given, value)) => (given, Some(value)),
                None => (&text[1..], None),
            };
            let Some(name) = complete(given, grammar) else {
                self.options.push(Given {
                    name: given,
                    value: attached,
                });
                continue;
            };
            let takes_value =
                grammar.long_values.contains(&name) || grammar.operand_values.contains(&name);
            let mut value = attached.filter(|value| !value.is_empty());
            if takes_value && value.is_none() {
                let next = words.get(index);
                index += usize::from(next.is_some());
                value = next.map(|word| word.text.as_str());
                let is_operand = grammar.operand_values.contains(&name);
                self.operands.extend(next.filter(|_| is_operand));
            }
            // `-Recurse:$false` says that it is not given.
            if value.is_none_or(|value| !value.eq_ignore_ascii_case("$false")) {
                self.options.push(Given { name, value });
            }
        }
    }

    fn read_slash(&mut self, words: &'a [Word]) {
        for (index, word) in words.iter().enumerate() {
            if !word.text.starts_with('/') {
                self.rest = self.rest.min(index);
                self.operands.push(word);
                // `%FLAGS%` may be anything, and cmd reads switches wherever they stand.
                self.hidden_option |= word.splits && word.text.chars().all(|c| c == UNKNOWN);
                continue;
            }
            for switch in word.text.split('/').filter(|switch| !switch.is_empty()) {
                let (name, value) = switch.split_once(':').unwrap_or((switch, ""));
                self.options.push(Given {
                    name,
                    value: Some(value),
                });
            }
        }
    }
}

/// Returns the parameter that `given` stands for: itself, or the only one it begins.
fn complete(given: &str, grammar: &Grammar) -> Option<&'static str> {
    let begins = |name: &&&'static str| {
        name.get(..given.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(given))
    };
    let all = || {
        grammar
            .longs
            .iter()
            .chain(grammar.long_values)
            .chain(grammar.operand_values)
    };
    if let Some(exact) = all().find(|name| name.eq_ignore_ascii_case(given)) {
        return Some(exact);
    }
    let mut candidates = all().filter(begins);
    match (candidates.next(), candidates.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}
