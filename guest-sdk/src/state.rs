//! What is kept from one call to the next, for one row and one session.
//!
//! Reads see what was there when the hook was asked, and the hook's own writes. Writes
//! are committed with the record of the hook's answer, all or none, and only if it
//! answers. All keys and values of a session together are limited.

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

use crate::host;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The value.
    pub value: Vec<u8>,
    /// Changes with each write. A value that the hook itself wrote has version 0.
    pub version: u64,
}

/// Why state cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    /// There is no session to keep it for, as while a row is loaded.
    #[error("there is no session to keep state for")]
    NoSession,
    /// A key has 1 to 128 bytes.
    #[error("a key has 1 to 128 bytes")]
    InvalidKey,
    /// It would be more than this many bytes.
    #[error("it would be more than {0} bytes: raise `state` in the row's limits")]
    Full(u64),
    /// The value has another version than the one named.
    #[error("the value has another version")]
    Conflict,
    /// The value is not JSON of the type that is asked for; the text says why.
    #[error("the value is not what was asked for: {0}")]
    Unreadable(String),
}

/// Returns a value, if there is one.
///
/// # Errors
///
/// Why state cannot be had.
pub fn get(key: &str) -> Result<Option<Entry>, StateError> {
    host::get_state(key)
}

/// Writes a value, whatever was there.
///
/// # Errors
///
/// Why state cannot be had.
pub fn put(key: &str, value: &[u8]) -> Result<(), StateError> {
    host::put_state(key, value)
}

/// Writes a value if the one there has this version; none means that there must be none.
///
/// When the hook has answered and another call was faster, the hook is asked once more
/// and sees what that call wrote.
///
/// # Errors
///
/// `Conflict` where the version is another, else why state cannot be had.
pub fn put_if(key: &str, value: &[u8], version: Option<u64>) -> Result<(), StateError> {
    host::put_state_if(key, value, version)
}

/// Removes a value, if there is one.
///
/// # Errors
///
/// Why state cannot be had.
pub fn delete(key: &str) -> Result<(), StateError> {
    host::delete_state(key)
}

/// Returns all keys, sorted.
///
/// # Errors
///
/// Why state cannot be had.
pub fn keys() -> Result<Vec<String>, StateError> {
    host::state_keys()
}

/// Reads a value that [`write()`] or [`update`] wrote, if there is one.
///
/// # Errors
///
/// `Unreadable` where it is of another type, else why state cannot be had.
pub fn read<T: DeserializeOwned>(key: &str) -> Result<Option<T>, StateError> {
    get(key)?.map(|entry| decoded(&entry)).transpose()
}

/// Writes a value as JSON, whatever was there.
///
/// # Errors
///
/// `Unreadable` where JSON cannot say it, else why state cannot be had.
pub fn write(key: &str, value: &impl Serialize) -> Result<(), StateError> {
    put(key, &encoded(value)?)
}

/// Changes a value, made by `Default` where there is none, and returns what it is now.
///
/// Nothing gets lost where calls run at the same time: the hook of the slower one is
/// asked once more, as [`put_if`] says.
///
/// # Errors
///
/// `Unreadable` where it is of another type, else why state cannot be had.
pub fn update<T: Serialize + DeserializeOwned + Default>(
    key: &str,
    change: impl FnOnce(&mut T),
) -> Result<T, StateError> {
    let entry = get(key)?;
    let mut value = match &entry {
        Some(entry) => decoded(entry)?,
        None => T::default(),
    };
    change(&mut value);
    put_if(key, &encoded(&value)?, entry.map(|entry| entry.version))?;
    Ok(value)
}

fn decoded<T: DeserializeOwned>(entry: &Entry) -> Result<T, StateError> {
    serde_json::from_slice(&entry.value).map_err(|error| StateError::Unreadable(error.to_string()))
}

fn encoded(value: &impl Serialize) -> Result<Vec<u8>, StateError> {
    serde_json::to_vec(value).map_err(|error| StateError::Unreadable(error.to_string()))
}
