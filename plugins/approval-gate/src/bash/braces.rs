//! Brace expansion: `{rm,-rf,x}` is three words.

/// The most words one word may become. More than that is left as it is written.
const MAX_WORDS: usize = 64;

/// How many braces are tried before the rest of a word counts as plain text. Each may
/// cost a look at the whole word.
const MAX_TRIES: usize = 256;

/// Returns the words that `raw` expands to, quotes and all, or none if it holds no brace expression.
pub(super) fn expand(raw: &str) -> Option<Vec<String>> {
    if !raw.contains('{') || !(raw.contains(',') || raw.contains("..")) {
        return None;
    }
    let mut done = Vec::new();
    let mut pending = vec![raw.to_owned()];
    while let Some(word) = pending.pop() {
        let Some((start, end, members)) = first_expression(&word) else {
            done.push(word);
            continue;
        };
        if done.len() + pending.len() + members.len() > MAX_WORDS {
            return None;
        }
        let expanded = members
            .iter()
            .rev()
            .map(|member| format!("{}{member}{}", &word[..start], &word[end..]));
        pending.extend(expanded);
    }
    (done.len() > 1 || done[0] != raw).then_some(done)
}

/// Returns where the first brace expression starts and ends, and its members.
fn first_expression(word: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = word.as_bytes();
    let (mut at, mut tries) = (0, 0);
    while at < bytes.len() && tries < MAX_TRIES {
        match bytes[at] {
            b'{' if at == 0 || bytes[at - 1] != b'$' => {
                tries += 1;
                if let Some((end, members)) = members(word, at) {
                    return Some((at, end, members));
                }
                at += 1;
            }
            _ => at = skip(bytes, at),
        }
    }
    None
}

/// Reads the expression whose brace is at `open`: its end, and at least two members.
fn members(word: &str, open: usize) -> Option<(usize, Vec<String>)> {
    let bytes = word.as_bytes();
    let (mut at, mut depth, mut start) = (open + 1, 0_usize, open + 1);
    let mut members = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'{' => depth += 1,
            b'}' if depth == 0 => {
                if members.is_empty() {
                    return sequence(&word[start..at]).map(|members| (at + 1, members));
                }
                members.push(word[start..at].to_owned());
                return Some((at + 1, members));
            }
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                members.push(word[start..at].to_owned());
                start = at + 1;
            }
            _ => {
                at = skip(bytes, at);
                continue;
            }
        }
        at += 1;
    }
    None
}

/// Returns the index after the character, escape or quoted text at `at`.
fn skip(bytes: &[u8], at: usize) -> usize {
    match bytes[at] {
        b'\\' => at + 2,
        quote @ (b'\'' | b'"') => {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != quote {
                end += 1 + usize::from(quote == b'"' && bytes[end] == b'\\');
            }
            end + 1
        }
        _ => at + 1,
    }
}

fn sequence(text: &str) -> Option<Vec<String>> {
    let (first, last) = text.split_once("..")?;
    if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
        let (low, high) = (first.min(last), first.max(last));
        let count = i64::from(high) - i64::from(low) + 1;
        return (count <= MAX_WORDS as i64).then(|| (low..=high).map(|n| n.to_string()).collect());
    }
    match (first.as_bytes(), last.as_bytes()) {
        ([a], [b]) if a.is_ascii_alphabetic() && b.is_ascii_alphabetic() => Some(
            (*a.min(b)..=*a.max(b))
                .map(|letter| char::from(letter).to_string())
                .collect(),
        ),
        _ => None,
    }
}
