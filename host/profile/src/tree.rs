//! YAML as a tree in which every value knows its position.
//!
//! Refuses what makes a configuration mean something else than it seems to: anchors,
//! merge keys, foreign tags, a key twice, a second document. Everything a hostile file
//! could blow up is bounded: bytes, depth, values.

use std::{borrow::Cow, collections::HashSet, ops::Range, sync::Arc};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use crate::{
    position::{Mistake, Position, Source, clamp, quoted},
    scalar::{Scalar, Style, Typed},
};

/// The largest file: a thousand rows with long comments fit many times over.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting: what walks a tree may use the stack.
pub const MAX_DEPTH: usize = 64;

/// The most values in a file: a tree of the largest file stays under some 20 MB.
pub const MAX_VALUES: usize = 1 << 16;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it begins.
    pub position: Position,
    /// Its bytes in the text, without white space after it.
    pub span: Range<usize>,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A single value.
    Scalar(Scalar),
    /// A list.
    Seq {
        /// Its items.
        items: Vec<Node>,
        /// Whether it is written in brackets.
        flow: bool,
    },
    /// A map; no key is in it twice.
    Map {
        /// Its entries, as written.
        entries: Vec<Entry>,
        /// Whether it is written in braces.
        flow: bool,
    },
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub node: Node,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key as text.
    pub text: String,
    /// Where it begins.
    pub position: Position,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

impl Node {
    /// Returns whether nothing is written where a value could be.
    pub fn is_empty(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.typed() == Ok(Typed::Empty))
    }

    /// Returns whether the value is a written `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.typed() == Ok(Typed::Null))
    }

    /// Returns the value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?
            .iter()
            .find(|entry| entry.key.text == key)
            .map(|entry| &entry.node)
    }

    /// Returns the items, if this is a list.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Seq { items, .. } => Some(items),
            Value::Scalar(_) | Value::Map { .. } => None,
        }
    }

    /// Returns the entries, if this is a map.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map { entries, .. } => Some(entries),
            Value::Scalar(_) | Value::Seq { .. } => None,
        }
    }

    /// Returns the tree as JSON; an empty value is null. Fails for numbers JSON cannot hold.
    pub fn to_json(&self) -> Result<serde_json::Value, Mistake> {
        match &self.value {
            Value::Scalar(scalar) => {
                let typed = scalar.typed();
                Ok(
                    match typed.map_err(|why| Mistake::new(&self.position, why))? {
                        Typed::Empty | Typed::Null => serde_json::Value::Null,
                        Typed::Bool(bool) => bool.into(),
                        Typed::Number(number) => number.into(),
                        Typed::Text(text) => text.into(),
                    },
                )
            }
            Value::Seq { items, .. } => items.iter().map(Self::to_json).collect(),
            Value::Map { entries, .. } => entries
                .iter()
                .map(|entry| Ok((entry.key.text.clone(), entry.node.to_json()?)))
                .collect(),
        }
    }
}

/// Returns the tree of a file; none if it holds nothing but comments.
///
/// Fails for text that is not YAML, and for YAML that is refused here.
pub fn read_tree(source: &Source<'_>) -> Result<Option<Node>, Mistake> {
    let text = decode(source)?;
    Reader {
        file: source.name.clone(),
        text,
        char_starts: char_starts(text),
        parser: Parser::new_from_str(text),
        values: 0,
    }
    .file()
}

/// Returns the text of a file that is small enough, UTF-8 and printable.
pub(crate) fn decode<'a>(source: &Source<'a>) -> Result<&'a str, Mistake> {
    let file = &source.name;
    if source.bytes.len() > MAX_BYTES {
        let start = Position::after(file, "");
        return Err(Mistake::new(&start, "the file is larger than 1 MiB"));
    }
    let text = std::str::from_utf8(source.bytes).map_err(|error| {
        let head = String::from_utf8_lossy(&source.bytes[..error.valid_up_to()]);
        let position = Position::after(file, &head);
        Mistake::new(&position, "this is not UTF-8; save the file as UTF-8")
    })?;
    match text.char_indices().find(|(_, c)| !is_printable(*c)) {
        Some((at, c)) => {
            let message = format!("the character U+{:04X} is not allowed", u32::from(c));
            Err(Mistake::new(&Position::after(file, &text[..at]), message))
        }
        None => Ok(text),
    }
}

/// Returns whether YAML allows the character in a file.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{85}')
        || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'))
}

/// Returns the byte at which each character starts, unless each is one byte.
fn char_starts(text: &str) -> Option<Vec<usize>> {
    (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect())
}

struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    char_starts: Option<Vec<usize>>,
    parser: Parser<'a, StrInput<'a>>,
    values: usize,
}

impl<'a> Reader<'a> {
    fn file(mut self) -> Result<Option<Node>, Mistake> {
        let mut root = None;
        let mut is_first = true;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentStart(_) if is_first => {
                    root = Some(self.node(0)?).filter(|node| !node.is_empty());
                    is_first = false;
                }
                Event::DocumentStart(_) => self.empty_document(span)?,
                Event::Nothing
                | Event::StreamStart
                | Event::DocumentEnd
                | Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => {}
            }
        }
    }

    /// Accepts what a trailing `---` begins, and nothing else.
    fn empty_document(&mut self, start: Span) -> Result<(), Mistake> {
        let position = self.position(start.start);
        if self.node(0)?.is_empty() {
            return Ok(());
        }
        let message = "a second document begins here; a file holds one";
        Err(Mistake::new(&position, message))
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.scan_mistake(&error)),
            None => {
                let end = Position::after(&self.file, self.text);
                Err(Mistake::new(&end, "the file ends too early"))
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, Mistake> {
        let (event, span) = self.next()?;
        self.node_of(event, span, depth)
    }

    fn node_of(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Mistake> {
        let position = self.position(span.start);
        self.values += 1;
        if depth > MAX_DEPTH {
            return Err(depth_mistake(&position));
        }
        if self.values > MAX_VALUES {
            let message = format!("the file holds more than {MAX_VALUES} values");
            return Err(Mistake::new(&position, message));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_anchor(anchor, &position)?;
                let scalar = scalar(text, style, tag.as_deref(), &position)?;
                Ok(self.scalar_node(position, span, style, scalar))
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_anchor(anchor, &position)?;
                check_collection_tag(tag.as_deref(), "seq", &position)?;
                self.seq(position, span, depth)
            }
            Event::MappingStart(anchor, tag) => {
                refuse_anchor(anchor, &position)?;
                check_collection_tag(tag.as_deref(), "map", &position)?;
                self.map(position, span, depth)
            }
            Event::Alias(_) => Err(anchor_mistake(&position)),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => Err(Mistake::new(&position, "a value is missing here")),
        }
    }

    fn scalar_node(
        &self,
        position: Position,
        span: Span,
        written: ScalarStyle,
        scalar: Scalar,
    ) -> Node {
        let start = self.byte(span.start);
        let end = match written {
            ScalarStyle::Plain if scalar.text.is_empty() => start,
            ScalarStyle::SingleQuoted => self.end_of_quoted(start, '\''),
            ScalarStyle::DoubleQuoted => self.end_of_quoted(start, '"'),
            ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => {
                self.end_of_content(start, self.byte(span.end))
            }
        };
        Node {
            position,
            span: start..end,
            value: Value::Scalar(scalar),
        }
    }

    fn seq(&mut self, position: Position, open: Span, depth: usize) -> Result<Node, Mistake> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                break;
            }
            items.push(self.node_of(event, span, depth + 1)?);
        }
        let flow = self.is_flow(open, '[');
        let last = items.last().map(|item| item.span.end);
        let span = self.collection_span(open, flow.then_some(']'), last);
        let value = Value::Seq { items, flow };
        Ok(Node {
            position,
            span,
            value,
        })
    }

    fn map(&mut self, position: Position, open: Span, depth: usize) -> Result<Node, Mistake> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = self.key(event, span, depth + 1)?;
            if !seen.insert(key.text.clone()) {
                let message = format!("the key {} is here a second time", quoted(&key.text));
                return Err(Mistake::new(&key.position, message));
            }
            let node = self.node(depth + 1)?;
            entries.push(Entry { key, node });
        }
        let flow = self.is_flow(open, '{');
        let last = entries
            .last()
            .map(|entry| entry.node.span.end.max(entry.key.span.end));
        let span = self.collection_span(open, flow.then_some('}'), last);
        let value = Value::Map { entries, flow };
        Ok(Node {
            position,
            span,
            value,
        })
    }

    fn key(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Key, Mistake> {
        let node = self.node_of(event, span, depth)?;
        let Value::Scalar(scalar) = node.value else {
            let message = "a key must be a single word or text";
            return Err(Mistake::new(&node.position, message));
        };
        if scalar.text.is_empty() {
            return Err(Mistake::new(&node.position, "a key is missing here"));
        }
        if scalar.text == "<<" && scalar.style == Style::Plain {
            let message = "merge keys are not supported; write the keys out";
            return Err(Mistake::new(&node.position, message));
        }
        Ok(Key {
            text: scalar.text,
            position: node.position,
            span: node.span,
        })
    }

    fn is_flow(&self, open: Span, bracket: char) -> bool {
        self.text[self.byte(open.start)..self.byte(open.end)]
            .trim_end()
            .ends_with(bracket)
    }

    /// Returns the bytes of a collection. The parser ends a block, and what is quoted or in
    /// brackets, only where the next token is, which may be many comments later.
    fn collection_span(
        &self,
        open: Span,
        bracket: Option<char>,
        last_child_end: Option<usize>,
    ) -> Range<usize> {
        let start = self.byte(open.start);
        let end = match bracket {
            Some(bracket) => {
                let from = last_child_end.unwrap_or(self.byte(open.end));
                self.end_of_flow(from, bracket)
            }
            None => last_child_end.unwrap_or(start),
        };
        start..end.max(start)
    }

    /// Returns the end of the bracket that closes a collection whose last child ends at
    /// `from`: only white space, commas and comments are in between.
    fn end_of_flow(&self, from: usize, bracket: char) -> usize {
        let mut in_comment = false;
        for (at, c) in self.text[from..].char_indices() {
            if c == bracket && !in_comment {
                return from + at + c.len_utf8();
            }
            in_comment = c == '#' || (in_comment && !matches!(c, '\n' | '\r'));
        }
        self.text.len()
    }

    fn end_of_quoted(&self, start: usize, quote: char) -> usize {
        let mut chars = self.text[start..].char_indices().peekable();
        let mut is_open = false;
        while let Some((at, c)) = chars.next() {
            let is_doubled = quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote);
            if is_open && ((c == quote && is_doubled) || (c == '\\' && quote == '"')) {
                chars.next();
            } else if c == quote && is_open {
                return start + at + c.len_utf8();
            } else if c == quote {
                is_open = true;
            }
        }
        self.text.len()
    }

    fn end_of_content(&self, start: usize, end: usize) -> usize {
        let content = self.text[start..end.max(start)].trim_end_matches([' ', '\t', '\r', '\n']);
        start + content.len()
    }

    fn byte(&self, marker: Marker) -> usize {
        let index = marker.index();
        let byte = match &self.char_starts {
            Some(starts) => starts.get(index).copied().unwrap_or(self.text.len()),
            None => index,
        };
        byte.min(self.text.len())
    }

    fn position(&self, marker: Marker) -> Position {
        Position {
            file: self.file.clone(),
            line: clamp(marker.line()),
            column: clamp(marker.col() + 1),
        }
    }

    fn scan_mistake(&self, error: &ScanError) -> Mistake {
        let marker = *error.marker();
        let position = self.position(marker);
        if error.info().contains("unknown anchor") {
            return anchor_mistake(&position);
        }
        if error.info().contains("recursion limit") {
            return depth_mistake(&position);
        }
        let line = self.text[..self.byte(marker)].rsplit(['\n', '\r']).next();
        let has_tab = line.is_some_and(|line| line.contains('\t'));
        Mistake::new(&position, format!("not valid YAML: {}", error.info()))
            .hinting(has_tab.then(|| "this line has a tab; write spaces".to_owned()))
    }
}

fn refuse_anchor(anchor: usize, position: &Position) -> Result<(), Mistake> {
    if anchor == 0 {
        Ok(())
    } else {
        Err(anchor_mistake(position))
    }
}

fn anchor_mistake(position: &Position) -> Mistake {
    let message = "anchors (`&`) and aliases (`*`) are not supported; write the value out, \
                   or put text that begins so in quotes";
    Mistake::new(position, message)
}

fn depth_mistake(position: &Position) -> Mistake {
    let message = format!("this is nested more than {MAX_DEPTH} levels deep");
    Mistake::new(position, message)
}

fn scalar(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
    position: &Position,
) -> Result<Scalar, Mistake> {
    let style = match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Style::Quoted,
    };
    let text = text.into_owned();
    let Some(tag) = tag else {
        return Ok(Scalar { text, style });
    };
    let name = core_tag(tag).ok_or_else(|| tag_mistake(tag, position))?;
    if name == "str" {
        let style = Style::Quoted;
        return Ok(Scalar { text, style });
    }
    let scalar = Scalar {
        text,
        style: Style::Plain,
    };
    let typed = scalar.typed();
    let fits = match typed.map_err(|why| Mistake::new(position, why))? {
        Typed::Empty | Typed::Null => name == "null",
        Typed::Bool(_) => name == "bool",
        Typed::Number(number) => name == "float" || (name == "int" && !number.is_f64()),
        Typed::Text(_) => false,
    };
    if !fits {
        let message = format!(
            "{} is not what its tag `!!{name}` says",
            quoted(&scalar.text)
        );
        return Err(Mistake::new(position, message));
    }
    Ok(scalar)
}

fn check_collection_tag(
    tag: Option<&Tag>,
    expected: &str,
    position: &Position,
) -> Result<(), Mistake> {
    match tag {
        Some(tag) if core_tag(tag) != Some(expected) => Err(tag_mistake(tag, position)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the name of a tag of the core schema; `!` alone means text.
fn core_tag(tag: &Tag) -> Option<&str> {
    const CORE: [&str; 7] = ["str", "int", "float", "bool", "null", "seq", "map"];
    if tag.handle.is_empty() && tag.suffix == "!" {
        return Some("str");
    }
    let name = CORE.into_iter().find(|name| tag.suffix == *name);
    name.filter(|_| tag.is_yaml_core_schema())
}

fn tag_mistake(tag: &Tag, position: &Position) -> Mistake {
    let shown = if tag.is_yaml_core_schema() {
        format!("!!{}", tag.suffix)
    } else {
        format!("{}{}", tag.handle, tag.suffix)
    };
    let message = format!("the tag {} is not supported; remove it", quoted(&shown));
    Mistake::new(position, message)
}
