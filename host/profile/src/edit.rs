//! Edits of a patch's text that leave comments, order and all the rest byte for byte.
//!
//! An edit cuts into the text where the tree says, reads the result again, and compares
//! it with what was meant. What does not come out as meant is an error, so that clever
//! YAML costs a message and never a damaged file.

mod cut;

use std::sync::Arc;

use damper_call::RowId;
use serde_json::{Map, Value, json};

use self::cut::Cut;
use crate::{
    compose::Composition,
    position::{Mistake, Position, Source, quoted},
    read::{self, ROW_KEYS},
    row::{PluginRef, Row, RowKind, Tools, pointer_to},
    tree::{Node, decode, read_tree},
};

/// Returned for an edit that was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The patch is not one, as it stands.
    #[error("{0}")]
    Unreadable(Mistake),
    /// The edit would be rejected.
    #[error("{0}")]
    Refused(Mistake),
    /// The key cannot be set.
    #[error("{} is not a key of a row that can be set, such as `disabled` or `limits.memory`", quoted(.path))]
    Key {
        /// The key.
        path: String,
    },
    /// The patch says nothing about the row.
    #[error("{file} says nothing about row `{row}` that could be removed")]
    NothingToRemove {
        /// The patch.
        file: Arc<str>,
        /// The row.
        row: RowId,
    },
    /// The patch is written in a way that this edit does not understand.
    #[error("{file} is written in a form that cannot be edited from here; change it by hand")]
    Form {
        /// The patch.
        file: Arc<str>,
    },
}

/// Returns the patch with a row switched off or on.
pub fn set_disabled(patch: &Source<'_>, row: &RowId, disabled: bool) -> Result<String, EditError> {
    set(patch, row, "disabled", &disabled.into())
}

/// Returns the patch with one key of a row set, such as `limits.memory` or `config.a.b`.
///
/// The last entry about the row is changed; if there is none, one is added. Null removes
/// what lower layers say.
pub fn set(
    patch: &Source<'_>,
    row: &RowId,
    path: &str,
    value: &Value,
) -> Result<String, EditError> {
    let keys = keys_of(path)?;
    let text = decode(patch).map_err(EditError::Unreadable)?;
    let root = read_tree(patch).map_err(EditError::Unreadable)?;
    let mut expected = json_of(root.as_ref())?;
    check_list(root.as_ref())?;
    let target = root.as_ref().and_then(|root| target_of(root, row));
    let cut = match target {
        Some(target) => {
            json_set(expected.pointer_mut(&target.pointer), &keys, value);
            cut::set_in(text, target.map, &keys, value)
        }
        None => {
            let mut entry = json!({ "id": row });
            json_set(Some(&mut entry), &keys, value);
            let cut = cut::append(text, root.as_ref(), &entry);
            if let Some(entries) = expected.as_array_mut() {
                entries.push(entry);
            }
            cut
        }
    };
    let edited = commit(patch, text, cut.into_iter().collect(), &expected)?;
    check_grammar(patch, &edited, row)?;
    Ok(edited)
}

/// Returns the patch without its edits of a row. Fails if there are none.
pub fn revert(patch: &Source<'_>, row: &RowId) -> Result<String, EditError> {
    without(patch, row, false)
}

/// Returns the patch without a row that it inserts, and without its edits of that row.
/// Fails if there is neither.
pub fn remove(patch: &Source<'_>, row: &RowId) -> Result<String, EditError> {
    without(patch, row, true)
}

/// Returns the place in a later layer that sets a key which `patch` also sets.
pub fn overridden_by<'c>(
    composition: &'c Composition,
    row: &RowId,
    path: &str,
    patch: &str,
) -> Option<&'c Position> {
    let pointer = path
        .split('.')
        .fold(String::new(), |p, key| pointer_to(&p, key));
    let position = composition.row(row)?.origins.get(&pointer)?;
    let layer = |name: &str| {
        composition
            .layers
            .iter()
            .rposition(|layer| *layer.name == *name)
    };
    (layer(&position.file) > layer(patch)).then_some(position)
}

fn keys_of(path: &str) -> Result<Vec<&str>, EditError> {
    let keys: Vec<&str> = path.split('.').collect();
    let is_settable = keys[0] != "id" && ROW_KEYS.contains(&keys[0]);
    if is_settable && keys.iter().all(|key| !key.is_empty()) {
        return Ok(keys);
    }
    Err(EditError::Key {
        path: path.to_owned(),
    })
}

fn json_of(root: Option<&Node>) -> Result<Value, EditError> {
    match root {
        Some(root) => root.to_json().map_err(EditError::Unreadable),
        None => Ok(json!([])),
    }
}

fn check_list(root: Option<&Node>) -> Result<(), EditError> {
    match root {
        Some(root) if root.items().is_none() => {
            let mistake = Mistake::new(&root.position, "a patch must be a list");
            Err(EditError::Unreadable(mistake))
        }
        Some(_) | None => Ok(()),
    }
}

/// The map in a patch that an edit of a row belongs into.
struct Target<'n> {
    map: &'n Node,
    pointer: String,
    is_inserted: bool,
}

/// Returns the last map about a row, which wins over those before it.
fn target_of<'n>(root: &'n Node, row: &RowId) -> Option<Target<'n>> {
    let entries = root.items()?.iter().enumerate();
    entries.rev().find_map(|(at, entry)| {
        if is_about(entry, row) {
            return Some(Target {
                map: entry,
                pointer: format!("/{at}"),
                is_inserted: false,
            });
        }
        let rows = inserted(entry).iter().enumerate();
        rows.rev()
            .find(|(_, item)| is_about(item, row))
            .map(|(item_at, item)| Target {
                map: item,
                pointer: format!("/{at}/insert/{item_at}"),
                is_inserted: true,
            })
    })
}

fn inserted(entry: &Node) -> &[Node] {
    entry
        .get("insert")
        .and_then(Node::items)
        .unwrap_or_default()
}

fn is_about(node: &Node, row: &RowId) -> bool {
    let id = node.entries().map(read::row_id);
    matches!(id, Some(Ok(Some(id))) if id == *row)
}

fn json_set(target: Option<&mut Value>, keys: &[&str], value: &Value) {
    let (Some(target), Some((first, rest))) = (target, keys.split_first()) else {
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let slot = &mut target[*first];
    if rest.is_empty() {
        *slot = value.clone();
    } else {
        json_set(Some(slot), rest, value);
    }
}

fn without(patch: &Source<'_>, row: &RowId, inserted_too: bool) -> Result<String, EditError> {
    let text = decode(patch).map_err(EditError::Unreadable)?;
    let root = read_tree(patch).map_err(EditError::Unreadable)?;
    check_list(root.as_ref())?;
    let list = root.iter().filter_map(|root| Some((root, root.items()?)));
    let mut cuts = Vec::new();
    let mut kept = Vec::new();
    for (root, entries) in list {
        for (at, entry) in entries.iter().enumerate() {
            let rows = inserted(entry);
            let gone = rows.iter().filter(|item| is_about(item, row)).count();
            let mut json = json_of(Some(entry))?;
            if is_about(entry, row) || (inserted_too && gone > 0 && gone == rows.len()) {
                cuts.push(cut::item(text, root, at));
                continue;
            }
            if inserted_too && let Some(list) = entry.get("insert") {
                let of_row = |(_, item): &(usize, &Node)| is_about(item, row);
                let found = rows.iter().enumerate().filter(of_row);
                cuts.extend(found.map(|(item_at, _)| cut::item(text, list, item_at)));
                remove_rows(&mut json, rows, row);
            }
            kept.push(json);
        }
    }
    if cuts.is_empty() {
        return Err(EditError::NothingToRemove {
            file: patch.name.clone(),
            row: row.clone(),
        });
    }
    let cuts: Option<Vec<Cut>> = cuts.into_iter().collect();
    commit(patch, text, cuts.unwrap_or_default(), &kept.into())
}

fn remove_rows(entry: &mut Value, rows: &[Node], row: &RowId) {
    if let Some(list) = entry["insert"].as_array_mut() {
        let mut nodes = rows.iter();
        list.retain(|_| !nodes.next().is_some_and(|node| is_about(node, row)));
    }
}

/// Makes the cuts and returns the new text if it says exactly what is expected.
fn commit(
    patch: &Source<'_>,
    text: &str,
    cuts: Vec<Cut>,
    expected: &Value,
) -> Result<String, EditError> {
    let edited = cut::make(text, cuts);
    let root = read_tree(&renewed(patch, &edited));
    let is_as_meant = root.is_ok_and(|root| json_of(root.as_ref()).as_ref() == Ok(expected));
    if is_as_meant {
        return Ok(edited);
    }
    Err(EditError::Form {
        file: patch.name.clone(),
    })
}

fn renewed<'t>(patch: &Source<'_>, text: &'t str) -> Source<'t> {
    Source {
        name: patch.name.clone(),
        folder: patch.folder.clone(),
        bytes: text.as_bytes(),
    }
}

/// Refuses a text in which the entry about the row would be rejected.
fn check_grammar(patch: &Source<'_>, text: &str, row: &RowId) -> Result<(), EditError> {
    let root = read_tree(&renewed(patch, text)).map_err(EditError::Unreadable)?;
    let Some(target) = root.as_ref().and_then(|root| target_of(root, row)) else {
        return Ok(());
    };
    let read = if target.is_inserted {
        read::row(target.map, &patch.folder)
    } else {
        let kind = if target.map.get("tools").is_some() {
            RowKind::Tools(Tools::Names(Vec::new()))
        } else {
            RowKind::Plugin(PluginRef::Id(String::new()))
        };
        let any = Row::new(row.clone(), kind, target.map.position.clone());
        read::edited(
            &any,
            target.map.entries().unwrap_or_default(),
            &patch.folder,
        )
    };
    read.map(drop).map_err(EditError::Refused)
}
