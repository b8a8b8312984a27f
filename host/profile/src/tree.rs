//! YAML as a tree in which every value knows its position.
//!
//! Refuses what makes a configuration mean something else than it seems to: anchors,
//! merge keys, foreign tags, a key twice, a second document. Everything a hostile file
//! could blow up is bounded: bytes, depth, values.

mod reader;
mod refused;

use std::ops::Range;

use self::reader::Reader;
use crate::{
    position::{Mistake, Position, Source},
    scalar::{Scalar, Typed},
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
    Reader::new(source, text).file()
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
