//! Finds where quoted and nested text ends, without recursion.

/// Returns the index of the `)` or `}` that closes the bracket at `open`.
pub(super) fn closing(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scan = Scan {
        bytes,
        at: open + 1,
        stack: vec![closer(*bytes.get(open)?)],
        heredocs: Vec::new(),
    };
    while scan.at < bytes.len() {
        if scan.step() {
            return Some(scan.at - 1);
        }
    }
    None
}

fn closer(open: u8) -> u8 {
    if open == b'(' { b')' } else { b'}' }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// What closes the constructs that are open, the innermost last: `)`, `}` or `"`.
    stack: Vec<u8>,
    /// The tags whose bodies start after the next newline, and whether tabs before them go.
    heredocs: Vec<(Vec<u8>, bool)>,
}

impl Scan<'_> {
    /// Goes past one character or construct; returns whether that closed the outermost bracket.
    fn step(&mut self) -> bool {
        let byte = self.bytes[self.at];
        let top = self.stack.last().copied().unwrap_or_default();
        self.at += 1;
        match byte {
            b'\\' => self.at += 1,
            b'`' => self.skip_past(b'`', true),
            b'$' if matches!(self.peek(), Some(b'(' | b'{')) => {
                self.stack.push(closer(self.bytes[self.at]));
                self.at += 1;
            }
            b'"' if top == b'"' => return self.pop(),
            _ if top == b'"' => {}
            b'"' => self.stack.push(b'"'),
            b'\'' => self.skip_past(b'\'', self.at >= 2 && self.bytes[self.at - 2] == b'$'),
            _ if byte == top => return self.pop(),
            _ if top == b'}' => {}
            b'(' => self.stack.push(b')'),
            b'#' if self.starts_word() => self.skip_line(),
            b'<' if self.peek() == Some(b'<') => self.read_tag(),
            b'\n' if !self.heredocs.is_empty() => self.skip_bodies(),
            _ => {}
        }
        false
    }

    fn pop(&mut self) -> bool {
        self.stack.pop();
        self.stack.is_empty()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn starts_word(&self) -> bool {
        self.at < 2
            || matches!(
                self.bytes[self.at - 2],
                b' ' | b'\t' | b'\n' | b';' | b'(' | b'&' | b'|'
            )
    }

    fn skip_past(&mut self, end: u8, escapes: bool) {
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == end {
                return;
            }
            self.at += usize::from(escapes && byte == b'\\');
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Reads the tag after `<<` or `<<-`; `<<<` has none.
    fn read_tag(&mut self) {
        self.at += 1;
        if self.peek() == Some(b'<') {
            self.at += 1;
            return;
        }
        let strips_tabs = self.peek() == Some(b'-');
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let mut tag = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' | b'"' | b'\\' => {}
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                _ => tag.push(byte),
            }
            self.at += 1;
        }
        if !tag.is_empty() {
            self.heredocs.push((tag, strips_tabs));
        }
    }

    /// Goes past the bodies of the here-documents that the line just ended announced.
    fn skip_bodies(&mut self) {
        for (tag, strips_tabs) in std::mem::take(&mut self.heredocs) {
            while self.at < self.bytes.len() && !self.skip_body_line(&tag, strips_tabs) {}
        }
    }

    /// Goes past one line; returns whether it is the one that ends the body.
    fn skip_body_line(&mut self, tag: &[u8], strips_tabs: bool) -> bool {
        let start = self.at;
        self.skip_line();
        let line = &self.bytes[start..self.at];
        let tabs = line
            .iter()
            .take_while(|byte| strips_tabs && **byte == b'\t')
            .count();
        self.at += usize::from(self.at < self.bytes.len());
        &line[tabs..] == tag
    }
}

/// Returns the index of the backtick that closes the one at `open`.
pub(super) fn closing_backtick(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'`' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Returns the code between backticks, where `\` protects `` ` ``, `\` and `$`.
pub(super) fn unescape_backticks(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match rest.peek() {
            Some(&next) if c == '\\' && matches!(next, '`' | '\\' | '$') => {
                code.push(next);
                rest.next();
            }
            _ => code.push(c),
        }
    }
    code
}

/// Appends what `$'...'` stands for and returns the index after its closing quote. `start`
/// is the index after the opening one.
pub(super) fn ansi_c(text: &str, start: usize, out: &mut String) -> usize {
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        at += c.len_utf8();
        match c {
            '\'' => return at,
            '\\' => at = ansi_c_escape(text, at, out),
            _ => out.push(c),
        }
    }
    at
}

fn ansi_c_escape(text: &str, start: usize, out: &mut String) -> usize {
    let Some(c) = text[start..].chars().next() else {
        return start;
    };
    let after = start + c.len_utf8();
    let (radix, from, most) = match c {
        'x' => (16, after, 2),
        'u' => (16, after, 4),
        'U' => (16, after, 8),
        '0'..='7' => (8, start, 3),
        'c' => {
            let Some(control) = text[after..].chars().next() else {
                return after;
            };
            out.push(char::from(control as u8 & 0x1f));
            return after + control.len_utf8();
        }
        _ => {
            let plain = match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\x07',
                'b' => '\x08',
                'e' | 'E' => '\x1b',
                'f' => '\x0c',
                'v' => '\x0b',
                '\\' | '\'' | '"' | '?' => c,
                _ => {
                    out.push('\\');
                    c
                }
            };
            out.push(plain);
            return after;
        }
    };
    let digits = text[from..]
        .bytes()
        .take(most)
        .take_while(|byte| char::from(*byte).is_digit(radix))
        .count();
    let value = u32::from_str_radix(&text[from..from + digits], radix)
        .ok()
        .and_then(char::from_u32);
    out.extend(value);
    from + digits
}
