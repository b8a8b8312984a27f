//! The grammar of a row: from a tree to a row, and from an edit to a changed row.
//!
//! An edit is applied to a copy of its row, so that a mistake in it changes nothing.

mod settings;
pub(crate) mod value;

use std::path::Path;

use damper_call::RowId;
use serde_json::Map;

use crate::{
    nearest::did_you_mean,
    position::{Mistake, quoted},
    row::{Origins, PluginRef, Row, RowKind, Tools, pointer_to},
    tree::{Entry, Node, Value},
};

/// The keys of a row, in the order they are shown in.
pub(crate) const ROW_KEYS: [&str; 10] = [
    "id",
    "plugin",
    "tools",
    "digest",
    "disabled",
    "on_failure",
    "for",
    "grants",
    "limits",
    "config",
];

/// Keys of which an edit changes parts; `id` only says which row it is.
const MERGED_KEYS: [&str; 3] = ["id", "limits", "config"];

/// Keys that later versions give a meaning to.
const LATER_KEYS: [&str; 2] = ["provider", "server"];

/// Returns the id that a row or an edit has.
pub(crate) fn row_id(entries: &[Entry]) -> Result<Option<RowId>, Mistake> {
    let Some(entry) = entries.iter().find(|entry| entry.key.text == "id") else {
        return Ok(None);
    };
    value::written(entry, "id")?;
    let id = value::text(&entry.node, "id")?;
    let id = id
        .parse()
        .map_err(|why| Mistake::new(&entry.node.position, format!("{why}")))?;
    Ok(Some(id))
}

/// Returns the row that a map describes.
pub(crate) fn row(node: &Node, folder: &Path) -> Result<Row, Mistake> {
    let entries = value::map(node, "a row")?;
    check_keys(entries)?;
    let id =
        row_id(entries)?.ok_or_else(|| Mistake::new(&node.position, "this row has no `id`"))?;
    let kind = row_kind(node, entries, &id, folder)?;
    let mut row = Row::new(id, kind, node.position.clone());
    apply(&mut row, entries, folder)?;
    Ok(row)
}

/// Returns the row as an edit leaves it.
pub(crate) fn edited(row: &Row, entries: &[Entry], folder: &Path) -> Result<Row, Mistake> {
    check_keys(entries)?;
    let mut row = row.clone();
    apply(&mut row, entries, folder)?;
    Ok(row)
}

fn check_keys(entries: &[Entry]) -> Result<(), Mistake> {
    for entry in entries {
        let name = entry.key.text.as_str();
        let position = &entry.key.position;
        if LATER_KEYS.contains(&name) {
            let message = format!("`{name}` is not in this version");
            return Err(Mistake::new(position, message));
        }
        if !ROW_KEYS.contains(&name) {
            let message = format!("a row has no key {}", quoted(name));
            return Err(Mistake::new(position, message).hinting(did_you_mean(name, ROW_KEYS)));
        }
        value::written(entry, name)?;
    }
    Ok(())
}

fn row_kind(node: &Node, entries: &[Entry], id: &RowId, folder: &Path) -> Result<RowKind, Mistake> {
    let mut kinds = entries
        .iter()
        .filter(|entry| matches!(entry.key.text.as_str(), "plugin" | "tools"));
    let Some(kind) = kinds.next() else {
        let message = format!("row `{id}` needs `plugin` or `tools`");
        return Err(Mistake::new(&node.position, message));
    };
    if let Some(second) = kinds.next() {
        let message = format!("row `{id}` has both `plugin` and `tools`; a row has one of them");
        return Err(Mistake::new(&second.key.position, message));
    }
    if kind.key.text == "plugin" {
        plugin(&kind.node, folder).map(RowKind::Plugin)
    } else {
        tools(&kind.node).map(RowKind::Tools)
    }
}

fn apply(row: &mut Row, entries: &[Entry], folder: &Path) -> Result<(), Mistake> {
    for entry in entries {
        let (key, node) = (&entry.key, &entry.node);
        let pointer = format!("/{}", key.text);
        let is_replaced = node.is_null() || !MERGED_KEYS.contains(&key.text.as_str());
        if is_replaced {
            row.origins.clear(&pointer);
        }
        if row.origins.get(&pointer).is_none() {
            row.origins.set(&pointer, &key.position);
        }
        match key.text.as_str() {
            "plugin" => row.kind = replaced_plugin(row, node, folder)?,
            "tools" => row.kind = replaced_tools(row, node)?,
            "digest" => row.digest = value::optional(node, settings::digest)?,
            "disabled" => row.disabled = value::or_default(node, |n| value::bool(n, "disabled"))?,
            "on_failure" => row.on_failure = value::or_default(node, settings::on_failure)?,
            "for" => row.covers = value::or_default(node, settings::coverage)?,
            "grants" => row.grants = value::or_default(node, settings::grants)?,
            "limits" => settings::merge_limits(&mut row.limits, node, &mut row.origins)?,
            "config" if node.is_null() => row.config.clear(),
            "config" => {
                let entries = value::map(node, "`config`")?;
                merge_config(&mut row.config, entries, &pointer, &mut row.origins)?;
            }
            _id => {}
        }
    }
    Ok(())
}

fn replaced_plugin(row: &Row, node: &Node, folder: &Path) -> Result<RowKind, Mistake> {
    match row.kind {
        RowKind::Plugin(_) => plugin(node, folder).map(RowKind::Plugin),
        RowKind::Tools(_) => Err(kind_mistake(row, node, "tools", "plugin")),
    }
}

fn replaced_tools(row: &Row, node: &Node) -> Result<RowKind, Mistake> {
    match row.kind {
        RowKind::Tools(_) => tools(node).map(RowKind::Tools),
        RowKind::Plugin(_) => Err(kind_mistake(row, node, "plugin", "tools")),
    }
}

fn kind_mistake(row: &Row, node: &Node, has: &str, wanted: &str) -> Mistake {
    let message = format!(
        "row `{}` has `{has}` and cannot get `{wanted}`; disable it and insert another row",
        row.id
    );
    Mistake::new(&node.position, message)
}

fn plugin(node: &Node, folder: &Path) -> Result<PluginRef, Mistake> {
    let text = value::text(node, "plugin")?;
    PluginRef::parse(text, folder).map_err(|advice| {
        let message = format!("{} is not a plugin", quoted(text));
        Mistake::new(&node.position, message).hinting(Some(advice.to_owned()))
    })
}

fn tools(node: &Node) -> Result<Tools, Mistake> {
    if node.items().is_none() {
        let name = value::text(node, "tools")?;
        return Ok(Tools::Set(name.to_owned()));
    }
    let names = value::texts(node, "tools")?;
    for (at, (name, item)) in names.iter().enumerate() {
        if names[..at].iter().any(|(earlier, _)| earlier == name) {
            let message = format!("the tool {} is here a second time", quoted(name));
            return Err(Mistake::new(&item.position, message));
        }
        if !damper_call::ToolDefinition::is_valid_name(name) {
            let message = format!("{} is not a tool's name", quoted(name));
            return Err(Mistake::new(&item.position, message));
        }
    }
    let names = names.into_iter().map(|(name, _)| name.to_owned());
    Ok(Tools::Names(names.collect()))
}

/// Merges a map into another one: maps by key, null removes, all else replaces.
fn merge_config(
    target: &mut Map<String, serde_json::Value>,
    entries: &[Entry],
    parent: &str,
    origins: &mut Origins,
) -> Result<(), Mistake> {
    for entry in entries {
        let name = &entry.key.text;
        value::written(entry, name)?;
        let pointer = pointer_to(parent, name);
        if entry.node.is_null() {
            target.shift_remove(name);
            origins.clear(&pointer);
            continue;
        }
        let Some(inner) = entry.node.entries() else {
            origins.clear(&pointer);
            origins.set(&pointer, &entry.key.position);
            let json = config_value(&entry.node, &pointer, origins)?;
            target.insert(name.clone(), json);
            continue;
        };
        let mut below = match target.get_mut(name) {
            Some(serde_json::Value::Object(object)) => std::mem::take(object),
            Some(_) | None => {
                origins.clear(&pointer);
                origins.set(&pointer, &entry.key.position);
                Map::new()
            }
        };
        merge_config(&mut below, inner, &pointer, origins)?;
        target.insert(name.clone(), below.into());
    }
    Ok(())
}

/// Returns a value that stands in a list or is no map, recording where its parts are.
fn config_value(
    node: &Node,
    pointer: &str,
    origins: &mut Origins,
) -> Result<serde_json::Value, Mistake> {
    match &node.value {
        Value::Scalar(_) if node.is_empty() => {
            Err(Mistake::new(&node.position, "a value is missing here"))
        }
        Value::Scalar(_) => node.to_json(),
        Value::Seq { items, .. } => {
            let mut array = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                let below = format!("{pointer}/{at}");
                origins.set(&below, &item.position);
                array.push(config_value(item, &below, origins)?);
            }
            Ok(array.into())
        }
        Value::Map { entries, .. } => {
            let mut object = Map::new();
            for entry in entries {
                value::written(entry, &entry.key.text)?;
                let below = pointer_to(pointer, &entry.key.text);
                origins.set(&below, &entry.key.position);
                let json = config_value(&entry.node, &below, origins)?;
                object.insert(entry.key.text.clone(), json);
            }
            Ok(object.into())
        }
    }
}
