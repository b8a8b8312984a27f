//! The output of a command in bounded memory: its beginning and its end.

use std::collections::VecDeque;

/// The longest character of UTF-8 in bytes.
const MAX_CHAR_BYTES: usize = 4;

/// The longest line of progress in characters: one line of a status display.
const MAX_PROGRESS_CHARS: usize = 200;

/// What is kept of an output of any length.
#[derive(Debug)]
pub(super) struct Capture {
    limit_chars: usize,
    /// The first bytes; never longer than `half_bytes`.
    head: Vec<u8>,
    /// The last of the bytes that did not go into `head`; never longer than `half_bytes`.
    tail: VecDeque<u8>,
    half_bytes: usize,
    total_bytes: u64,
}

impl Capture {
    /// Keeps at most `limit_chars` characters, half of them from the end.
    pub(super) fn new(limit_chars: usize) -> Self {
        Self {
            limit_chars,
            head: Vec::new(),
            tail: VecDeque::new(),
            half_bytes: limit_chars
                .div_ceil(2)
                .saturating_add(1)
                .saturating_mul(MAX_CHAR_BYTES),
            total_bytes: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let room = self.half_bytes - self.head.len();
        let (first, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half_bytes)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.half_bytes);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Returns the text to show, and whether anything was left out.
    pub(super) fn render(&self) -> (String, bool) {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let kept = (self.head.len() + tail.len()) as u64;
        if kept == self.total_bytes {
            let whole = [self.head.as_slice(), &tail].concat();
            if chars_of(&whole).count() <= self.limit_chars {
                return (String::from_utf8_lossy(&whole).into_owned(), false);
            }
            return self.cut(&whole, &whole);
        }
        self.cut(&self.head, &tail)
    }

    /// Joins the beginning of one text with the end of another. Together they are longer
    /// than the limit.
    fn cut(&self, head: &[u8], tail: &[u8]) -> (String, bool) {
        let tail_chars = self.limit_chars / 2;
        let head_chars = self.limit_chars - tail_chars;
        let head_bytes: usize = chars_of(head).take(head_chars).sum();
        let skipped = chars_of(tail).count().saturating_sub(tail_chars);
        let tail_start: usize = chars_of(tail).take(skipped).sum();
        let (head, tail) = (&head[..head_bytes], &tail[tail_start..]);
        let left_out = self.total_bytes - (head.len() + tail.len()) as u64;
        let text = format!(
            "{}\n[... {left_out} bytes left out; to see them, write the output to a file and \
             read that ...]\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail),
        );
        (text, true)
    }

    /// Returns the last line that is not blank, shortened.
    pub(super) fn last_line(&self) -> Option<String> {
        let window = MAX_PROGRESS_CHARS * MAX_CHAR_BYTES * 2;
        let mut bytes: Vec<u8> = self.tail.iter().rev().take(window).copied().collect();
        let missing = window - bytes.len();
        bytes.extend(self.head.iter().rev().take(missing));
        bytes.reverse();
        String::from_utf8_lossy(&bytes)
            .split(['\n', '\r'])
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(|line| {
                line.chars()
                    .filter(|c| !c.is_control())
                    .take(MAX_PROGRESS_CHARS)
                    .collect()
            })
    }
}

/// Returns the length in bytes of each character, a stretch of invalid bytes being one, as
/// it is when decoded.
fn chars_of(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let invalid = chunk.invalid().len();
        chunk
            .valid()
            .chars()
            .map(char::len_utf8)
            .chain((invalid > 0).then_some(invalid))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: usize, pieces: &[&[u8]], expected: &str, truncated: bool) {
        let mut capture = Capture::new(limit);
        for piece in pieces {
            capture.push(piece);
        }
        let (text, cut) = capture.render();
        let text = text.replace(
            "; to see them, write the output to a file and read that ...",
            "",
        );
        assert_eq!((text.as_str(), cut), (expected, truncated), "{pieces:?}");
    }

    #[test]
    fn keeps_beginning_and_end() {
        check(4, &[], "", false);
        check(4, &[b"abcd"], "abcd", false);
        check(4, &[b"ab", b"cde"], "ab\n[... 1 bytes left out]\nde", true);
        check(4, &["ääää".as_bytes()], "ääää", false);
        check(
            4,
            &["äöüßé".as_bytes()],
            "äö\n[... 2 bytes left out]\nßé",
            true,
        );
        check(4, &[b"\xff\xfeab"], "\u{fffd}\u{fffd}ab", false);
        check(4, &["ä".as_bytes().split_at(1).0, b"\xa4b"], "äb", false);
        check(3, &[b"abcde"], "ab\n[... 2 bytes left out]\ne", true);
        check(0, &[b"abc"], "\n[... 3 bytes left out]\n", true);
    }

    #[test]
    fn a_flood_takes_no_more_memory_than_the_limit() {
        let mut capture = Capture::new(100);
        let piece = [b'x'; 64 * 1024];
        for _ in 0..1000 {
            capture.push(&piece);
        }
        capture.push(b"the end");
        assert!(capture.head.len() + capture.tail.len() <= 2 * capture.half_bytes);
        assert!(capture.render().0.ends_with("the end"));
        assert_eq!(capture.total_bytes(), 1000 * 64 * 1024 + 7);
    }

    #[test]
    fn progress_is_the_last_line_with_something_in_it() {
        let mut capture = Capture::new(1000);
        assert_eq!(capture.last_line(), None);
        capture.push(b"one\ntwo\r  50%\x1b[K\r\n\n");
        assert_eq!(capture.last_line().as_deref(), Some("50%[K"));
        capture.push(&[b'y'; 9000]);
        assert_eq!(capture.last_line(), Some("y".repeat(200)));
    }
}
