//! What a few harmless programs print, so that code made of constants is seen.

use crate::base64;
use crate::invocation::{Dialect, Feed, Word, program_name};
use crate::wrappers::join;

/// Returns what the command prints, where that is constant.
pub(super) fn of_command(words: &[Word], feed: &Feed) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    if !words.iter().all(Word::is_constant) {
        return None;
    }
    let options = arguments
        .iter()
        .take_while(|word| word.text.starts_with('-') && word.text.len() > 1)
        .count();
    let operands = &arguments[options..];
    match program_name(&program.text, Dialect::Bash).as_str() {
        "echo" => {
            let options = arguments.iter().take_while(|word| {
                matches!(word.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en")
            });
            Some(join(&arguments[options.count()..]))
        }
        "printf" => printf(operands),
        "which" | "type" => Some(operands.last()?.text.clone()),
        "command" if options > 0 => Some(operands.first()?.text.clone()),
        "cat" | "tee" if operands.is_empty() || operands[0].text == "-" => feed.text.clone(),
        "base64"
            if arguments
                .iter()
                .any(|word| matches!(word.text.as_str(), "-d" | "-D" | "--decode" | "-di")) =>
        {
            let bytes = base64::decode(feed.text.as_deref()?)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        "rev" => Some(feed.text.as_deref()?.trim_end().chars().rev().collect()),
        _ => None,
    }
}

/// Returns what a substitution prints that is one such command without quotes or expansions.
pub(super) fn of_simple_code(code: &str) -> Option<String> {
    let is_simple = |c: char| c.is_ascii_alphanumeric() || " /._-+=,%".contains(c);
    if !code.chars().all(is_simple) {
        return None;
    }
    let words: Vec<Word> = code
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(Word::plain)
        .collect();
    of_command(&words, &Feed::default())
}

/// Follows `%s` and `%b` and the commonest escapes; other formats are not constant to us.
fn printf(operands: &[Word]) -> Option<String> {
    let (format, values) = operands.split_first()?;
    let mut values = values.iter().map(|word| word.text.as_str());
    let mut printed = String::new();
    let mut letters = format.text.chars();
    while let Some(c) = letters.next() {
        match c {
            '%' => match letters.next()? {
                's' | 'b' => printed.push_str(values.next().unwrap_or_default()),
                '%' => printed.push('%'),
                _ => return None,
            },
            '\\' => match letters.next()? {
                'n' => printed.push('\n'),
                't' => printed.push('\t'),
                other => printed.push(other),
            },
            _ => printed.push(c),
        }
    }
    for value in values {
        printed.push(' ');
        printed.push_str(value);
    }
    Some(printed)
}
