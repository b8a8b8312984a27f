//! Keeps the parser from texts that would exhaust its stack or its time.
//!
//! Its tokenizer recurses into expansions and its grammar into compound commands; the
//! grammar also tries some constructs twice, so that nesting them doubles the work.

use brush_parser::Token;

/// How deep expansions may nest: a third of what fits the 512 KiB stack of a guest.
const MAX_EXPANSIONS: usize = 128;

/// How deep compound commands may nest; the stack lasts for between 200 and 400.
const MAX_COMPOUNDS: usize = 32;

/// How many tokens are parsed; each takes some microseconds. A here-document is one token.
const MAX_TOKENS: usize = 1 << 14;

/// How often the parser may look at tokens, in the worst case that the nesting allows.
/// Takes about a tenth of a second.
const MAX_TOKEN_VISITS: usize = 1 << 18;

/// Returns whether expansions may nest deeper than the tokenizer can follow.
///
/// What is quoted and what is not is unknown here. So an opener counts as closed only if
/// no character that can change quoting stands between it and what closes it; any other
/// stays open for good. That can only count too much.
pub(super) fn expansions_too_deep(text: &str) -> bool {
    if !text.contains('$') {
        return false;
    }
    let bytes = text.as_bytes();
    let mut open: Vec<u8> = Vec::new();
    let mut lasting = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let follows_dollar = at > 0 && bytes[at - 1] == b'$';
        match byte {
            b'\'' | b'"' | b'\\' | b'#' | b'`' | b'<' => {
                lasting += open.iter().filter(|closer| **closer != 0).count();
                open.clear();
            }
            b'(' if follows_dollar => open.push(b')'),
            b'{' if follows_dollar => open.push(b'}'),
            b'[' if follows_dollar => open.push(b']'),
            // A bracket of its own closes by its own; it is not an expansion.
            b'(' if !open.is_empty() => open.push(0),
            b')' if open.last() == Some(&0) => drop(open.pop()),
            b')' | b'}' | b']' if open.last() == Some(byte) => drop(open.pop()),
            _ => {}
        }
        if lasting + open.len() > MAX_EXPANSIONS {
            return true;
        }
    }
    false
}

/// Why tokens are not handed to the parser.
pub(super) enum Refusal {
    TooDeep,
    TooLarge,
    /// A number that the parser cannot hold, where a file descriptor stands.
    Malformed,
}

/// Returns why the tokens must not be parsed, if so.
pub(super) fn refuse(tokens: &[Token]) -> Option<Refusal> {
    if tokens.len() > MAX_TOKENS {
        return Some(Refusal::TooLarge);
    }
    let mut nesting = Nesting::default();
    let mut before: Option<&Token> = None;
    for token in tokens {
        if let (Some(Token::Word(number, _)), Token::Operator(operator, _)) = (before, token)
            && operator.starts_with(['<', '>'])
            && number.len() > 9
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Some(Refusal::Malformed);
        }
        nesting.read(before, token);
        before = Some(token);
    }
    let doublings = nesting.doublings();
    let is_too_much = doublings > 0 && tokens.len() > MAX_TOKEN_VISITS >> doublings.min(31);
    (nesting.deepest > MAX_COMPOUNDS || is_too_much).then_some(Refusal::TooDeep)
}

#[derive(Default)]
struct Nesting {
    /// What closes the open constructs; tests are closed by `]]`.
    stack: Vec<&'static str>,
    deepest: usize,
    cases: usize,
    most_cases: usize,
    parentheses: usize,
    most_parentheses: usize,
    has_double_parenthesis: bool,
    coprocesses: usize,
    /// The operators of the test being read; the parser nests one level for each.
    test_operators: usize,
}

impl Nesting {
    fn read(&mut self, before: Option<&Token>, token: &Token) {
        let text = token.to_str();
        let in_test = self.stack.last() == Some(&"]]");
        if in_test && matches!(text, "&&" | "||" | "!") {
            self.test_operators += 1;
            self.deepest = self.deepest.max(self.stack.len() + self.test_operators);
        }
        let opened = match (token, text) {
            (Token::Operator(..), "(") => {
                self.has_double_parenthesis |=
                    matches!(before, Some(Token::Operator(text, _)) if text == "(");
                self.parentheses += 1;
                self.most_parentheses = self.most_parentheses.max(self.parentheses);
                Some(")")
            }
            (Token::Word(..), "{") => Some("}"),
            (Token::Word(..), "[[") => {
                self.test_operators = 0;
                Some("]]")
            }
            (Token::Word(..), _) if begins_command(before) => self.reserved(text),
            _ => None,
        };
        match opened {
            Some(closer) => {
                self.stack.push(closer);
                self.deepest = self.deepest.max(self.stack.len());
            }
            None if self.stack.last().is_some_and(|closer| *closer == text) => self.close(),
            None => {}
        }
    }

    fn reserved(&mut self, word: &str) -> Option<&'static str> {
        match word {
            "if" => Some("fi"),
            "while" | "until" | "for" | "select" => Some("done"),
            "case" => {
                self.cases += 1;
                self.most_cases = self.most_cases.max(self.cases);
                Some("esac")
            }
            "coproc" => {
                self.coprocesses += 1;
                Some("")
            }
            _ => None,
        }
    }

    fn close(&mut self) {
        match self.stack.pop() {
            Some("esac") => self.cases -= 1,
            Some(")") => self.parentheses -= 1,
            _ => {}
        }
    }

    /// Returns how often the parser's work may double.
    fn doublings(&self) -> usize {
        let arithmetic = if self.has_double_parenthesis {
            self.most_parentheses
        } else {
            0
        };
        self.most_cases + arithmetic + self.coprocesses
    }
}

/// Returns whether a reserved word may stand after `before`.
fn begins_command(before: Option<&Token>) -> bool {
    match before {
        None => true,
        Some(Token::Operator(operator, _)) => !operator.starts_with(['<', '>']),
        Some(Token::Word(word, _)) => matches!(
            word.as_str(),
            "if" | "then"
                | "else"
                | "elif"
                | "do"
                | "while"
                | "until"
                | "{"
                | "!"
                | "time"
                | "-p"
                | "coproc"
                | "in"
                | "fi"
                | "done"
                | "esac"
                | "}"
        ),
    }
}
