//! What the keys of a row other than `config` hold.

use std::{path::Path, time::Duration};

use damper_call::{Digest, Door};

use super::value;
use crate::{
    nearest::did_you_mean,
    position::{Mistake, quoted},
    row::{Coverage, Folder, Grants, Limits, OnFailure, Origins},
    scalar::Typed,
    tree::{Entry, Node},
    units::{parse_size, parse_time},
};

/// The keys of `limits`, in the order they are shown in.
pub(crate) const LIMIT_KEYS: [&str; 8] = [
    "memory",
    "guest_time",
    "wall_time",
    "answer",
    "log",
    "host_calls",
    "arguments",
    "state",
];

const COVERAGE_KEYS: [&str; 3] = ["mode", "kind", "door"];

/// The doors that a row can name.
const DOORS: [Door; 2] = [Door::Mcp, Door::Cli];

pub(super) fn digest(node: &Node) -> Result<Digest, Mistake> {
    let text = value::text(node, "digest")?;
    text.parse()
        .map_err(|why| Mistake::new(&node.position, format!("{why}")))
}

pub(super) fn on_failure(node: &Node) -> Result<OnFailure, Mistake> {
    value::choice(node, "on_failure", &OnFailure::ALL, OnFailure::as_str)
}

pub(super) fn coverage(node: &Node) -> Result<Coverage, Mistake> {
    let mut covers = Coverage::default();
    for entry in value::map(node, "`for`")? {
        value::written(entry, &entry.key.text)?;
        match entry.key.text.as_str() {
            "mode" => covers.mode = names(&entry.node, "mode")?,
            "kind" => covers.kind = names(&entry.node, "kind")?,
            "door" => {
                let items = value::list(&entry.node, "`door`")?;
                covers.door = items
                    .iter()
                    .map(|item| value::choice(item, "door", &DOORS, Door::as_str))
                    .collect::<Result<_, _>>()?;
            }
            _unknown => return Err(unknown_key(entry, "for", &COVERAGE_KEYS)),
        }
    }
    Ok(covers)
}

fn names(node: &Node, name: &str) -> Result<Vec<String>, Mistake> {
    let texts = value::texts(node, name)?;
    Ok(texts.into_iter().map(|(text, _)| text.to_owned()).collect())
}

/// The keys of `grants`, in the order they are shown in.
pub(crate) const GRANT_KEYS: [&str; 6] = ["files", "http", "clock", "random", "sessions", "roster"];

pub(super) fn grants(node: &Node) -> Result<Grants, Mistake> {
    let mut grants = Grants::default();
    for entry in value::map(node, "`grants`")? {
        let name = entry.key.text.as_str();
        value::written(entry, name)?;
        match name {
            "files" => file_grants(&entry.node, &mut grants)?,
            "http" => grants.http = names(&entry.node, name)?,
            "clock" => grants.clock = value::bool(&entry.node, name)?,
            "random" => grants.random = value::bool(&entry.node, name)?,
            "sessions" => grants.sessions = value::bool(&entry.node, name)?,
            "roster" => grants.roster = value::bool(&entry.node, name)?,
            _unknown => return Err(unknown_key(entry, "grants", &GRANT_KEYS)),
        }
    }
    Ok(grants)
}

fn file_grants(node: &Node, grants: &mut Grants) -> Result<(), Mistake> {
    for entry in value::map(node, "`files`")? {
        let name = entry.key.text.as_str();
        value::written(entry, name)?;
        let folders = match name {
            "metadata" => &mut grants.files_metadata,
            "read" => &mut grants.files_read,
            _unknown => return Err(unknown_key(entry, "files", &["metadata", "read"])),
        };
        *folders = value::list(&entry.node, &format!("`{name}`"))?
            .iter()
            .map(|node| folder(node, name))
            .collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn folder(node: &Node, within: &str) -> Result<Folder, Mistake> {
    let text = value::text(node, &format!("each of {within}"))?;
    if text == "workspace" {
        return Ok(Folder::Workspace);
    }
    let path = Path::new(text);
    if path.is_absolute() {
        return Ok(Folder::Absolute(path.to_owned()));
    }
    let message = format!("{} is not a folder that can be granted", quoted(text));
    let hint = did_you_mean(text, ["workspace"])
        .unwrap_or_else(|| "write `workspace` or a whole path".to_owned());
    Err(Mistake::new(&node.position, message).hinting(Some(hint)))
}

/// Merges limits by key; null takes one back, or all of them.
pub(super) fn merge_limits(
    limits: &mut Limits,
    node: &Node,
    origins: &mut Origins,
) -> Result<(), Mistake> {
    if node.is_null() {
        *limits = Limits::default();
        return Ok(());
    }
    for entry in value::map(node, "`limits`")? {
        let name = entry.key.text.as_str();
        value::written(entry, name)?;
        let node = &entry.node;
        match name {
            "memory" => limits.memory = value::optional(node, |n| size(n, name))?,
            "guest_time" => limits.guest_time = value::optional(node, |n| time(n, name))?,
            "wall_time" => limits.wall_time = value::optional(node, |n| time(n, name))?,
            "answer" => limits.answer = value::optional(node, |n| size(n, name))?,
            "log" => limits.log = value::optional(node, |n| size(n, name))?,
            "host_calls" => limits.host_calls = value::optional(node, |n| count(n, name))?,
            "arguments" => limits.arguments = value::optional(node, |n| size(n, name))?,
            "state" => limits.state = value::optional(node, |n| size(n, name))?,
            _unknown => return Err(unknown_key(entry, "limits", &LIMIT_KEYS)),
        }
        let pointer = format!("/limits/{name}");
        if node.is_null() {
            origins.clear(&pointer);
        } else {
            origins.set(&pointer, &entry.key.position);
        }
    }
    Ok(())
}

fn size(node: &Node, name: &str) -> Result<u64, Mistake> {
    let bytes = match value::typed(node)? {
        Some(Typed::Number(number)) => number
            .as_u64()
            .ok_or_else(|| "write a whole number of bytes, or a size such as 64MiB".to_owned()),
        Some(Typed::Text(text)) => parse_size(text),
        Some(Typed::Empty | Typed::Null | Typed::Bool(_)) | None => {
            Err("write a size such as 64MiB".to_owned())
        }
    };
    let bytes = bytes.map_err(|hint| {
        value::wrong(node, format!("`{name}` must be a size")).hinting(Some(hint))
    })?;
    more_than_zero(node, name, bytes)
}

fn count(node: &Node, name: &str) -> Result<u64, Mistake> {
    match value::typed(node)? {
        Some(Typed::Number(number)) => number.as_u64(),
        Some(Typed::Empty | Typed::Null | Typed::Bool(_) | Typed::Text(_)) | None => None,
    }
    .ok_or_else(|| value::wrong(node, format!("`{name}` must be a whole number")))
}

fn time(node: &Node, name: &str) -> Result<Duration, Mistake> {
    let text = match &value::typed(node)? {
        Some(Typed::Text(text)) => *text,
        Some(Typed::Empty | Typed::Null | Typed::Bool(_) | Typed::Number(_)) | None => "",
    };
    let time = parse_time(text).map_err(|hint| {
        value::wrong(node, format!("`{name}` must be a time")).hinting(Some(hint))
    })?;
    more_than_zero(node, name, time)
}

fn more_than_zero<T: Default + PartialEq>(node: &Node, name: &str, value: T) -> Result<T, Mistake> {
    if value == T::default() {
        let message = format!("`{name}` must be more than zero");
        return Err(Mistake::new(&node.position, message));
    }
    Ok(value)
}

fn unknown_key(entry: &Entry, within: &str, known: &[&str]) -> Mistake {
    let name = &entry.key.text;
    let message = format!("`{within}` has no key {}", quoted(name));
    let hint = did_you_mean(name, known.iter().copied())
        .unwrap_or_else(|| format!("it has {}", known.join(", ")));
    Mistake::new(&entry.key.position, message).hinting(Some(hint))
}
