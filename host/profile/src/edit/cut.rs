//! Where to cut into a text, and what to put there.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::{
    show::{flow, flow_text},
    tree::{Entry, Node, Value as Tree},
};

/// A part of a text and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    range: Range<usize>,
    text: String,
}

/// Returns the text with all cuts made. Overlapping ones become one.
pub(super) fn make(text: &str, mut cuts: Vec<Cut>) -> String {
    cuts.sort_by_key(|cut| cut.range.start);
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut made = String::with_capacity(text.len());
    let mut done = 0;
    for cut in cuts {
        made.push_str(text.get(done..cut.range.start).unwrap_or(""));
        made.push_str(&cut.text.replace('\n', line_end));
        done = done.max(cut.range.end);
    }
    made.push_str(text.get(done..).unwrap_or(""));
    made
}

/// Returns the cut that sets a key, or a key of a key, of a map.
pub(super) fn set_in(text: &str, map: &Node, keys: &[&str], value: &Value) -> Option<Cut> {
    let (first, rest) = keys.split_first()?;
    let found = map.entries()?.iter().find(|entry| entry.key.text == *first);
    let Some(entry) = found else {
        return add_key(text, map, first, &nested(rest, value));
    };
    if rest.is_empty() || entry.node.entries().is_none() {
        return replace_value(text, entry, &nested(rest, value));
    }
    set_in(text, &entry.node, rest, value)
}

/// Returns the cut that adds an entry to a patch.
pub(super) fn append(text: &str, root: Option<&Node>, entry: &Value) -> Option<Cut> {
    let Some(root) = root else {
        return block_entry(text, text.len(), 0, entry);
    };
    match &root.value {
        Tree::Seq { items, flow: true } => {
            let last = items.last().map(|item| item.span.end);
            Some(add_to_flow(root, last, flow(entry)))
        }
        Tree::Seq { flow: false, .. } => {
            let at = end_of_document(text, root.span.end);
            block_entry(text, at, indent_of(root), entry)
        }
        Tree::Scalar(_) | Tree::Map { .. } => None,
    }
}

/// Returns the cut that takes an item out of a list.
pub(super) fn item(text: &str, list: &Node, at: usize) -> Option<Cut> {
    let Tree::Seq { items, flow } = &list.value else {
        return None;
    };
    let span = &items.get(at)?.span;
    let range = if *flow {
        match (
            items.get(at + 1),
            at.checked_sub(1).and_then(|at| items.get(at)),
        ) {
            (Some(next), _) => span.start..next.span.start,
            (None, Some(previous)) => previous.span.end..span.end,
            (None, None) => span.clone(),
        }
    } else {
        let dash = text[..span.start]
            .trim_end_matches([' ', '\t', '\r', '\n'])
            .strip_suffix('-')?
            .len();
        let line_start = text[..dash].rfind('\n').map_or(0, |newline| newline + 1);
        if !text[line_start..dash].chars().all(|c| c == ' ') {
            return None;
        }
        let line_end = text[span.end..].find('\n');
        line_start..line_end.map_or(text.len(), |newline| span.end + newline + 1)
    };
    Some(Cut {
        range,
        text: String::new(),
    })
}

fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
    })
}

/// Replaces all between the colon and the value's end, so that the `|` of a block goes
/// too; white space before the value stays when it stands on the key's line.
fn replace_value(text: &str, entry: &Entry, value: &Value) -> Option<Cut> {
    let key_end = entry.key.span.end;
    let after_colon = key_end + text.get(key_end..)?.find(':')? + 1;
    let span = &entry.node.span;
    let is_beside = !entry.node.is_empty()
        && text
            .get(after_colon..span.start)
            .is_some_and(|gap| !gap.is_empty() && gap.chars().all(|c| c == ' '));
    if is_beside {
        return Some(Cut {
            range: span.clone(),
            text: flow(value),
        });
    }
    Some(Cut {
        range: after_colon..span.end.max(after_colon),
        text: format!(" {}", flow(value)),
    })
}

fn add_key(text: &str, map: &Node, key: &str, value: &Value) -> Option<Cut> {
    let Tree::Map {
        entries,
        flow: is_flow,
    } = &map.value
    else {
        return None;
    };
    let line = format!("{}: {}", flow_text(key), flow(value));
    let last = entries
        .last()
        .map(|entry| entry.node.span.end.max(entry.key.span.end));
    if *is_flow {
        return Some(add_to_flow(map, last, line));
    }
    let at = end_of_line(text, last?);
    let indent = indent_of(map);
    Some(Cut {
        range: at..at,
        text: format!("\n{:indent$}{line}", ""),
    })
}

fn add_to_flow(collection: &Node, last_child_end: Option<usize>, item: String) -> Cut {
    match last_child_end {
        Some(at) => Cut {
            range: at..at,
            text: format!(", {item}"),
        },
        None => {
            let bracket = collection.span.end.saturating_sub(1);
            Cut {
                range: bracket..bracket,
                text: item,
            }
        }
    }
}

fn block_entry(text: &str, at: usize, indent: usize, entry: &Value) -> Option<Cut> {
    let head = text.get(..at)?;
    let needs_break = !(head.is_empty() || head == "\u{feff}" || head.ends_with('\n'));
    let mut block = String::from(if needs_break { "\n" } else { "" });
    for (nth, (key, value)) in entry.as_object()?.iter().enumerate() {
        let lead = if nth == 0 { "- " } else { "  " };
        let line = format!("{:indent$}{lead}{}: {}\n", "", flow_text(key), flow(value));
        block.push_str(&line);
    }
    Some(Cut {
        range: at..at,
        text: block,
    })
}

fn indent_of(node: &Node) -> usize {
    usize::try_from(node.position.column.saturating_sub(1)).unwrap_or(0)
}

/// Returns where the line ends on which the byte at `from` stands.
fn end_of_line(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let line = rest.split('\n').next().unwrap_or(rest);
    from + line.trim_end_matches('\r').len()
}

/// Returns where more can be written: before a `---` or `...` that ends the document.
fn end_of_document(text: &str, from: usize) -> usize {
    let mut at = end_of_line(text, from);
    for line in text[at..].split_inclusive('\n') {
        if line.starts_with("---") || line.starts_with("...") {
            return at;
        }
        at += line.len();
    }
    text.len()
}
