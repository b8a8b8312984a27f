//! Takes what looks like a secret out of arguments before they are journalled.
//!
//! A filter for accidents, no wall: a secret that looks like a word passes. Guards see the
//! arguments as they are.

use serde_json::Value;

/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";

/// Words in a key or an option that say its value is a secret.
const SECRET_WORDS: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "private_key",
    "credential",
    "authorization",
];

/// How well-known secrets begin, with how long they are at least.
const SECRET_STARTS: [(&str, usize); 12] = [
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("eyJ", 40),
];

/// Returns the value with secrets replaced.
pub(crate) fn redact(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact_text(&text)),
        Value::Array(values) => Value::Array(values.into_iter().map(redact).collect()),
        Value::Object(entries) => Value::Object(entries.into_iter().map(redact_entry).collect()),
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_)) => scalar,
    }
}

fn redact_entry((key, value): (String, Value)) -> (String, Value) {
    let is_secret = says_secret(&key) && value.as_str().is_some_and(|text| !text.is_empty());
    let value = if is_secret {
        Value::String(REDACTED.to_owned())
    } else {
        redact(value)
    };
    (key, value)
}

fn says_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Replaces secrets in a text, leaving everything else byte for byte.
pub(crate) fn redact_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut value_is_secret = false;
    for piece in text
        .split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|'))
    {
        let end = piece
            .trim_end_matches(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '&' | '|')
            })
            .len();
        let (word, separator) = piece.split_at(end);
        clean.push_str(&redact_word(word, value_is_secret));
        clean.push_str(separator);
        value_is_secret = next_is_secret(word, value_is_secret);
    }
    clean
}

fn redact_word(word: &str, value_is_secret: bool) -> String {
    if let Some((name, value)) = word.split_once('=').or_else(|| word.split_once(':'))
        && !value.is_empty()
        && !value.starts_with("//")
        && (says_secret(name) || is_secret(value))
    {
        return format!("{}{}{REDACTED}", name, &word[name.len()..=name.len()]);
    }
    if let Some((scheme, rest)) = word.split_once("://")
        && let Some((userinfo, host)) = rest.split_once('@')
        && let Some((user, _password)) = userinfo.split_once(':')
    {
        return format!("{scheme}://{user}:{REDACTED}@{host}");
    }
    let is_value = value_is_secret && !word.is_empty() && !word.starts_with('-');
    if is_value || is_secret(word) {
        REDACTED.to_owned()
    } else {
        word.to_owned()
    }
}

/// Returns whether the word after this one is a secret: the value of an option that says so,
/// or of an authorization scheme.
fn next_is_secret(word: &str, value_is_secret: bool) -> bool {
    let is_option = word.starts_with("--") && !word.contains('=') && says_secret(word);
    let is_scheme = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
    is_option || is_scheme || (value_is_secret && word.is_empty())
}

fn is_secret(word: &str) -> bool {
    let is_token = |word: &str| {
        word.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let starts_like_one = SECRET_STARTS
        .iter()
        .any(|(start, least)| word.starts_with(start) && word.len() >= *least && is_token(word));
    starts_like_one || word.contains("-----BEGIN")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn takes_out_what_looks_like_a_secret() {
        let table = [
            ("ls -la", "ls -la"),
            ("export API_KEY=abc", "export API_KEY=[redacted]"),
            (
                "curl -H \"Authorization: Bearer abcdef\" x",
                "curl -H \"Authorization: Bearer [redacted]\" x",
            ),
            (
                "login --password hunter2 --user ann",
                "login --password [redacted] --user ann",
            ),
            ("login --password=hunter2", "login --password=[redacted]"),
            ("echo ghp_0123456789abcdefghij0123", "echo [redacted]"),
            (
                "git clone https://ann:pw@host/r",
                "git clone https://ann:[redacted]@host/r",
            ),
            ("git clone https://host/r", "git clone https://host/r"),
            ("echo sk-short", "echo sk-short"),
            ("a\tb\n c", "a\tb\n c"),
            ("tokenize x", "tokenize x"),
        ];
        for (text, expected) in table {
            assert_eq!(redact_text(text), expected);
        }
    }

    #[test]
    fn looks_at_keys_and_below() {
        let value = json!({"password": "x", "list": [{"token": "y", "n": 1}], "secret": "", "note": "AKIA0123456789ABCDEF"});
        let expected = json!({"password": "[redacted]", "list": [{"token": "[redacted]", "n": 1}], "secret": "", "note": "[redacted]"});
        assert_eq!(redact(value), expected);
    }
}
