//! Layers become one composition: a profile, then each patch over it.
//!
//! What is wrong in a patch is rejected entry by entry and the rest applies; a patch that
//! does not parse is rejected whole; a profile in which anything is wrong is none.

use std::{collections::HashMap, fmt, path::Path, sync::Arc};

use damper_call::RowId;

use crate::{
    nearest::did_you_mean,
    position::{Mistake, Position, Source, quoted},
    read::{self, value},
    row::Row,
    tree::{Entry, Node, read_tree},
};

/// The most rows of a composition: each may cost memory and time in every call.
const MAX_ROWS: usize = 256;

/// The most entries of a patch.
const MAX_ENTRIES: usize = 1024;

const PROFILE_KEYS: [&str; 4] = ["name", "description", "notify", "rows"];

/// A value with where it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub position: Position,
}

/// A profile with its patches applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The profile's name.
    pub name: Setting<String>,
    /// What it is for.
    pub description: Option<Setting<String>>,
    /// The command that runs when an approval is raised: program and arguments.
    pub notify: Option<Setting<Vec<String>>>,
    /// The rows in order, disabled ones included. No two have the same id.
    pub rows: Vec<Row>,
    /// What was not applied.
    pub rejected: Vec<Rejection>,
    /// The files it was made of, the profile first.
    pub layers: Vec<Layer>,
}

impl Composition {
    /// Returns the row with this id.
    pub fn row(&self, id: &RowId) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == *id)
    }
}

/// A file that a composition was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file's name.
    pub name: Arc<str>,
    /// Whether it parsed; if not, nothing of it was applied.
    pub parsed: Result<(), Mistake>,
}

/// An entry of a patch that was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The entry, from 0.
    pub entry: usize,
    /// The row it is about, when that can be told.
    pub row: Option<RowId>,
    /// What is wrong, and where.
    pub mistake: Mistake,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistake.fmt(f)
    }
}

/// Returned for a profile that cannot be used: everything that is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileError {
    /// What is wrong; at least one.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.mistakes.iter().enumerate() {
            let separator = if at == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProfileError {}

impl From<Mistake> for ProfileError {
    fn from(mistake: Mistake) -> Self {
        Self {
            mistakes: vec![mistake],
        }
    }
}

/// Returns the profile with the patches applied in order, later ones winning.
///
/// Fails when anything is wrong in the profile itself. Mistakes in patches are kept in
/// [`Composition::rejected`] and [`Composition::layers`].
pub fn compose(profile: &Source<'_>, patches: &[Source<'_>]) -> Result<Composition, ProfileError> {
    let mut composition = read_profile(profile)?;
    let mut lost = HashMap::new();
    for patch in patches {
        let mut layer = PatchLayer {
            composition: &mut composition,
            folder: &patch.folder,
            entry: 0,
            lost: &mut lost,
        };
        let parsed = layer.apply(patch);
        composition.layers.push(Layer {
            name: patch.name.clone(),
            parsed,
        });
    }
    Ok(composition)
}

fn read_profile(source: &Source<'_>) -> Result<Composition, ProfileError> {
    let start = Position::after(&source.name, "");
    let root = read_tree(source)?.ok_or_else(|| Mistake::new(&start, "the profile is empty"))?;
    let mut mistakes = Vec::new();
    let mut name = None;
    let mut description = None;
    let mut notify = None;
    let mut rows = None;
    for entry in value::map(&root, "a profile")? {
        let (key, node) = (entry.key.text.as_str(), &entry.node);
        let read = value::written(entry, key).and_then(|()| match key {
            "name" => value::text(node, key).map(|text| name = Some(at(node, text.to_owned()))),
            "description" => {
                value::text(node, key).map(|text| description = Some(at(node, text.to_owned())))
            }
            "notify" => command(node).map(|command| notify = Some(at(node, command))),
            "rows" => value::list(node, "`rows`").map(|items| rows = Some(items)),
            _unknown => {
                let message = format!("a profile has no key {}", quoted(key));
                let hint = did_you_mean(key, PROFILE_KEYS);
                Err(Mistake::new(&entry.key.position, message).hinting(hint))
            }
        });
        mistakes.extend(read.err());
    }
    let rows = read_rows(rows, &source.folder, &mut mistakes);
    if root.get("name").is_none() {
        let mistake = Mistake::new(&root.position, "this profile has no `name`");
        mistakes.push(mistake);
    }
    match name {
        Some(name) if mistakes.is_empty() => Ok(Composition {
            name,
            description,
            notify,
            rows,
            rejected: Vec::new(),
            layers: vec![Layer {
                name: source.name.clone(),
                parsed: Ok(()),
            }],
        }),
        Some(_) | None => Err(ProfileError { mistakes }),
    }
}

fn at<T>(node: &Node, value: T) -> Setting<T> {
    Setting {
        value,
        position: node.position.clone(),
    }
}

fn command(node: &Node) -> Result<Vec<String>, Mistake> {
    let words = value::texts(node, "notify")?;
    if words.is_empty() {
        let message = "`notify` must name a program";
        return Err(Mistake::new(&node.position, message));
    }
    Ok(words.into_iter().map(|(word, _)| word.to_owned()).collect())
}

fn read_rows(items: Option<&[Node]>, folder: &Path, mistakes: &mut Vec<Mistake>) -> Vec<Row> {
    let mut rows = Vec::new();
    for item in items.into_iter().flatten() {
        let read = read::row(item, folder).and_then(|row| push_row(&mut rows, row));
        mistakes.extend(read.err());
    }
    rows
}

fn push_row(rows: &mut Vec<Row>, row: Row) -> Result<(), Mistake> {
    if let Some(other) = rows.iter().find(|other| other.id == row.id) {
        let message = format!("row `{}` is already at {}", row.id, other.position());
        let hint = "edit it with an entry `- id:`, or choose another id".to_owned();
        return Err(Mistake::new(row.position(), message).hinting(Some(hint)));
    }
    if rows.len() == MAX_ROWS {
        let message = format!("there are more than {MAX_ROWS} rows");
        return Err(Mistake::new(row.position(), message));
    }
    rows.push(row);
    Ok(())
}

struct PatchLayer<'a> {
    composition: &'a mut Composition,
    folder: &'a Path,
    entry: usize,
    /// Where rows of patches were rejected, by id.
    lost: &'a mut HashMap<RowId, Position>,
}

impl PatchLayer<'_> {
    fn apply(&mut self, patch: &Source<'_>) -> Result<(), Mistake> {
        let Some(root) = read_tree(patch)? else {
            return Ok(());
        };
        let entries = value::list(&root, "a patch")?;
        if let Some(entry) = entries.get(MAX_ENTRIES) {
            let message = format!("there are more than {MAX_ENTRIES} entries");
            return Err(Mistake::new(&entry.position, message));
        }
        for (at, entry) in entries.iter().enumerate() {
            self.entry = at;
            match entry.get("insert") {
                Some(rows) => self.insert(entry, rows),
                None => self.edit(entry),
            }
        }
        Ok(())
    }

    fn insert(&mut self, entry: &Node, rows: &Node) {
        let others = entry.entries().into_iter().flatten();
        if let Some(other) = others.into_iter().find(|other| other.key.text != "insert") {
            let name = quoted(&other.key.text);
            let message = format!("an entry with `insert` has no other key, such as {name}");
            return self.reject(None, Mistake::new(&other.key.position, message));
        }
        if rows.is_empty() {
            let position = entry.entries().and_then(|entries| entries.first());
            let position = position.map_or(&rows.position, |entry| &entry.key.position);
            let mistake = Mistake::new(position, "`insert` has no value");
            return self.reject(
                None,
                mistake.hinting(Some("write a list of rows".to_owned())),
            );
        }
        let items = match value::list(rows, "`insert`") {
            Ok(items) => items,
            Err(mistake) => return self.reject(None, mistake),
        };
        for item in items {
            let read = read::row(item, self.folder)
                .and_then(|row| push_row(&mut self.composition.rows, row));
            if let Err(mistake) = read {
                let id = item.entries().and_then(known_id);
                let place = |id: &RowId| (id.clone(), mistake.position.clone());
                self.lost.extend(id.iter().map(place));
                self.reject(id, mistake);
            }
        }
    }

    fn edit(&mut self, entry: &Node) {
        let id = entry.entries().and_then(known_id);
        match self.edited(entry) {
            Ok((at, row)) => {
                if let Some(old) = self.composition.rows.get_mut(at) {
                    *old = row;
                }
            }
            Err(mistake) => self.reject(id, mistake),
        }
    }

    fn edited(&self, entry: &Node) -> Result<(usize, Row), Mistake> {
        let entries = value::map(entry, "an entry")?;
        let rows = &self.composition.rows;
        let Some(id) = read::row_id(entries)? else {
            let hint = entries
                .iter()
                .find_map(|entry| did_you_mean(&entry.key.text, ["insert", "id"]));
            let message = "an entry needs `id: ROW` or `insert: [ROWS]`";
            return Err(Mistake::new(&entry.position, message).hinting(hint));
        };
        let Some(at) = rows.iter().position(|row| row.id == id) else {
            let hint = match self.lost.get(&id) {
                Some(position) => Some(format!("it was rejected at {position}")),
                None => did_you_mean(id.as_str(), rows.iter().map(|row| row.id.as_str())),
            };
            let message = format!("there is no row {}", quoted(id.as_str()));
            let position = entry
                .get("id")
                .map_or(&entry.position, |node| &node.position);
            return Err(Mistake::new(position, message).hinting(hint));
        };
        Ok((at, read::edited(&rows[at], entries, self.folder)?))
    }

    fn reject(&mut self, row: Option<RowId>, mistake: Mistake) {
        self.composition.rejected.push(Rejection {
            entry: self.entry,
            row,
            mistake,
        });
    }
}

fn known_id(entries: &[Entry]) -> Option<RowId> {
    read::row_id(entries).ok().flatten()
}
