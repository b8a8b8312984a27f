//! What a plugin keeps from one call to the next.

use std::{collections::BTreeMap, sync::Arc};

use crate::{RowId, SessionId};

/// Whose state it is: another row, another plugin in the same row and another session each
/// have their own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateScope {
    /// The row that runs the plugin.
    pub row: RowId,
    /// The id in the plugin's manifest, so that a swap to a newer version keeps the state.
    pub plugin: String,
    /// The session.
    pub session: SessionId,
}

/// One value with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEntry {
    /// The value.
    pub value: Arc<[u8]>,
    /// A number that no other value of this key ever had or will have.
    pub version: u64,
}

/// The state of one scope, by key.
pub type StateMap = BTreeMap<String, StateEntry>;

/// A change of one key, to be committed with the record of the hook that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWrite {
    /// The key.
    pub key: String,
    /// The new value; `None` removes it.
    pub value: Option<Arc<[u8]>>,
    /// What must be there for the change to be made.
    pub expected: Expected,
}

/// What a write asks of the value that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Nothing.
    Anything,
    /// That there is none.
    Absent,
    /// That it has this version.
    Version(u64),
}
