//! Events of the YAML parser become a tree, counted and with exact ends.

use std::{collections::HashSet, ops::Range, sync::Arc};

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::{
    Entry, Key, MAX_DEPTH, MAX_VALUES, Node, Value,
    refused::{anchor_mistake, check_collection_tag, depth_mistake, refuse_anchor, scalar},
};
use crate::{
    position::{Mistake, Position, Source, clamp, quoted},
    scalar::{Scalar, Style},
};

/// Reads one file.
pub(super) struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    char_starts: Option<Vec<usize>>,
    parser: Parser<'a, StrInput<'a>>,
    values: usize,
}

impl<'a> Reader<'a> {
    /// Returns a reader of the text that `source` was decoded to.
    pub(super) fn new(source: &Source<'a>, text: &'a str) -> Self {
        Self {
            file: source.name.clone(),
            text,
            char_starts: char_starts(text),
            parser: Parser::new_from_str(text),
            values: 0,
        }
    }

    /// Returns the tree of the only document; none if nothing is written.
    pub(super) fn file(mut self) -> Result<Option<Node>, Mistake> {
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

/// Returns the byte at which each character starts, unless each is one byte.
fn char_starts(text: &str) -> Option<Vec<usize>> {
    (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect())
}
