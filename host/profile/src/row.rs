//! A row of a profile: one plugin or set of native tools, and everything said about it.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use damper_call::{Digest, Door, RowId};
use serde_json::{Map, Value};

use crate::position::Position;

/// One row as it takes effect, with where each of its keys was set.
///
/// Two rows are equal when they do the same, wherever it was written.
#[derive(Debug, Clone)]
pub struct Row {
    /// The row's name.
    pub id: RowId,
    /// What it brings in.
    pub kind: RowKind,
    /// What the plugin is configured with; always one JSON object.
    pub config: Map<String, Value>,
    /// What the plugin may do beyond computing.
    pub grants: Grants,
    /// The limits that this row sets itself.
    pub limits: Limits,
    /// What a guard that fails counts as.
    pub on_failure: OnFailure,
    /// Whether it is switched off.
    pub disabled: bool,
    /// The sessions it covers.
    pub covers: Coverage,
    /// The only content that the plugin's file may have.
    pub digest: Option<Digest>,
    /// Where each key was set.
    pub origins: Origins,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            id,
            kind,
            config,
            grants,
            limits,
            on_failure,
            disabled,
            covers,
            digest,
            origins: _,
        } = self;
        *id == other.id
            && *kind == other.kind
            && *config == other.config
            && *grants == other.grants
            && *limits == other.limits
            && *on_failure == other.on_failure
            && *disabled == other.disabled
            && *covers == other.covers
            && *digest == other.digest
    }
}

impl Row {
    /// Returns an enabled row about which nothing else is said.
    pub(crate) fn new(id: RowId, kind: RowKind, position: Position) -> Self {
        Self {
            id,
            kind,
            config: Map::new(),
            grants: Grants::default(),
            limits: Limits::default(),
            on_failure: OnFailure::default(),
            disabled: false,
            covers: Coverage::default(),
            digest: None,
            origins: Origins::new(position),
        }
    }

    /// Returns where the row was inserted.
    pub fn position(&self) -> &Position {
        &self.origins.row
    }

    /// Returns where the value at a JSON pointer into the configuration was set.
    ///
    /// What is not there, such as a required key that is missing, is answered with the
    /// nearest thing around it.
    pub fn config_position(&self, pointer: &str) -> &Position {
        self.origins.nearest(&format!("/config{pointer}"))
    }
}

/// What a row brings in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// A plugin.
    Plugin(PluginRef),
    /// Native tools.
    Tools(Tools),
}

/// How a row names its plugin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PluginRef {
    /// A component file; relative ones have been joined to the folder of the naming file.
    File(PathBuf),
    /// A plugin to be looked up by its id, `owner/name`.
    Id(String),
}

impl PluginRef {
    /// Returns the reference that a text in a file of `folder` means, or what to write.
    pub(crate) fn parse(text: &str, folder: &Path) -> Result<Self, &'static str> {
        const ADVICE: &str = "write owner/name, or a file such as ./guard.wasm";
        let looks_like_file = ["/", "./", "../"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
            || Path::new(text)
                .extension()
                .is_some_and(|extension| extension == "wasm");
        if looks_like_file {
            if text.starts_with('~') {
                return Err("`~` is not expanded; write the whole path");
            }
            let joined = folder.join(text);
            let parts = joined
                .components()
                .filter(|part| *part != Component::CurDir);
            return Ok(Self::File(parts.collect()));
        }
        let (owner, name) = text.split_once('/').ok_or(ADVICE)?;
        let is_name = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        if is_name(owner) && is_name(name) {
            Ok(Self::Id(text.to_owned()))
        } else {
            Err(ADVICE)
        }
    }
}

impl fmt::Display for PluginRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => f.write_str(id),
            Self::File(path) if path.is_absolute() || path.starts_with("..") => {
                write!(f, "{}", path.display())
            }
            Self::File(path) => write!(f, "./{}", path.display()),
        }
    }
}

/// Which native tools a row brings in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tools {
    /// A set that the host knows by name.
    Set(String),
    /// These.
    Names(Vec<String>),
}

/// What a row grants to its plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// The folders below which it may ask for names, sizes and times of files.
    pub files_metadata: Vec<Folder>,
    /// The folders below which it may read files.
    pub files_read: Vec<Folder>,
    /// The hosts it may speak to, each `host` or `host:port`.
    pub http: Vec<String>,
    /// Whether clocks run for it.
    pub clock: bool,
    /// Whether its randomness comes from the system.
    pub random: bool,
    /// Whether it may look at the sessions of a tree.
    pub sessions: bool,
    /// Whether it may look at the modes.
    pub roster: bool,
}

/// A folder that a grant names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Folder {
    /// The roots of the session that calls.
    Workspace,
    /// This one; always absolute.
    Absolute(PathBuf),
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace => f.write_str("workspace"),
            Self::Absolute(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The limits that a row sets. None leaves the manifest's or the host's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of guest memory for one call, all memories together.
    pub memory: Option<u64>,
    /// Time in the guest for one call.
    pub guest_time: Option<Duration>,
    /// Time for one call, host calls included.
    pub wall_time: Option<Duration>,
    /// Bytes of an answer.
    pub answer: Option<u64>,
    /// Bytes of log output for one call.
    pub log: Option<u64>,
    /// Host calls for one call.
    pub host_calls: Option<u64>,
    /// Bytes of a call's arguments.
    pub arguments: Option<u64>,
    /// Bytes that the plugin keeps for one session.
    pub state: Option<u64>,
}

/// What a guard that traps, times out or answers nonsense counts as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// A person is asked.
    #[default]
    Ask,
    /// The call is denied.
    Deny,
    /// The guard is not counted.
    Pass,
}

impl OnFailure {
    pub(crate) const ALL: [Self; 3] = [Self::Ask, Self::Deny, Self::Pass];

    /// Returns the word that profiles use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Pass => "pass",
        }
    }
}

/// The sessions that a row covers. An empty list covers all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The modes.
    pub mode: Vec<String>,
    /// The kinds of worker.
    pub kind: Vec<String>,
    /// The doors.
    pub door: Vec<Door>,
}

/// Where each key of a row was set, by JSON pointer into the row as it is written.
#[derive(Debug, Clone)]
pub struct Origins {
    row: Position,
    keys: BTreeMap<String, Position>,
}

impl Origins {
    fn new(row: Position) -> Self {
        Self {
            row,
            keys: BTreeMap::new(),
        }
    }

    /// Returns where exactly this key was set, such as `/limits/memory` or `/config/a/b`.
    pub fn get(&self, pointer: &str) -> Option<&Position> {
        self.keys.get(pointer)
    }

    /// Returns where this key, or else the nearest thing around it, was set.
    pub fn nearest(&self, pointer: &str) -> &Position {
        let mut rest = pointer;
        loop {
            if let Some(position) = self.keys.get(rest) {
                return position;
            }
            match rest.rfind('/') {
                Some(at) => rest = &rest[..at],
                None => return &self.row,
            }
        }
    }

    /// Records where a key was set.
    pub(crate) fn set(&mut self, pointer: &str, position: &Position) {
        self.keys.insert(pointer.to_owned(), position.clone());
    }

    /// Forgets a key and everything below it.
    pub(crate) fn clear(&mut self, pointer: &str) {
        self.keys.remove(pointer);
        let below = format!("{pointer}/");
        let gone: Vec<String> = self
            .keys
            .range(below.clone()..)
            .take_while(|(key, _)| key.starts_with(&below))
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            self.keys.remove(&key);
        }
    }
}

/// Returns the JSON pointer to a key below another pointer.
pub(crate) fn pointer_to(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('~', "~0").replace('/', "~1"))
}
