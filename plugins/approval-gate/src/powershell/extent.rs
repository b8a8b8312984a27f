//! Finds where brackets end, past the strings and comments inside.

/// Returns the index of what closes the bracket at `open`, or the end of the text.
pub(super) fn closing(text: &str, open: usize) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            b'`' => at += 1,
            b'<' if bytes.get(at + 1) == Some(&b'#') => {
                at = find(text, at, "#>").map_or(bytes.len(), |end| end + 1)
            }
            b'#' if matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'{' | b'(' | b';') => {
                at = find(text, at, "\n").unwrap_or(bytes.len());
            }
            b'@' if matches!(bytes.get(at + 1), Some(b'\'' | b'"')) => {
                let end = if bytes[at + 1] == b'"' {
                    "\n\"@"
                } else {
                    "\n'@"
                };
                at = find(text, at, end).map_or(bytes.len(), |end| end + 2);
            }
            b'\'' => at = find(text, at + 1, "'").unwrap_or(bytes.len()),
            b'"' => at = string_end(bytes, at),
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    text.get(from..)?.find(what).map(|length| from + length)
}

/// Returns the index of the `"` that ends the string at `open`. Brackets inside are counted,
/// since `"$("a")"` is one string.
fn string_end(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    let mut depth = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => at += 1,
            b'(' if depth > 0 || bytes[at - 1] == b'$' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b'"' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
