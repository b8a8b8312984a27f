//! `state`: what a plugin keeps, seen as it was when the hook was asked.

use std::collections::BTreeMap;

use damper_call::{Expected, StateEntry, StateMap, StateWrite};

use crate::{
    bindings::damper::plugin::state::{Entry, Host, StateError},
    state::GuestState,
};

/// The longest key, in bytes.
const MAX_KEY: usize = 128;

/// The version of a value that the hook itself wrote and that is not committed yet.
const OWN: u64 = 0;

/// A hook's view: the state as it was, with the hook's own writes on top.
#[derive(Debug)]
pub(crate) struct StateView {
    map: StateMap,
    writes: BTreeMap<String, StateWrite>,
    /// Bytes of all keys and values in `map`.
    size: u64,
    limit: u64,
}

impl StateView {
    pub(crate) fn new(map: StateMap, limit: u64) -> Self {
        let size = map
            .iter()
            .map(|(key, entry)| (key.len() + entry.value.len()) as u64)
            .sum();
        Self {
            map,
            writes: BTreeMap::new(),
            size,
            limit,
        }
    }

    /// Returns what the hook wrote, one write a key.
    pub(crate) fn into_writes(self) -> Vec<StateWrite> {
        self.writes.into_values().collect()
    }

    /// Returns what the last commit must still hold for a write that names no version.
    fn write(
        &mut self,
        key: String,
        value: Option<Vec<u8>>,
        expected: Expected,
    ) -> Result<(), StateError> {
        let had = self.map.get(&key);
        let freed = had.map_or(0, |had| (key.len() + had.value.len()) as u64);
        let taken = value
            .as_ref()
            .map_or(0, |value| (key.len() + value.len()) as u64);
        let size = self.size - freed + taken;
        // What shrinks is allowed even where the limit was lowered below what is there.
        if size > self.limit && taken > freed {
            return Err(StateError::Full(self.limit));
        }
        self.size = size;
        let value: Option<std::sync::Arc<[u8]>> = value.map(Into::into);
        match &value {
            Some(value) => {
                let entry = StateEntry {
                    value: std::sync::Arc::clone(value),
                    version: OWN,
                };
                self.map.insert(key.clone(), entry);
            }
            None => {
                self.map.remove(&key);
            }
        }
        // A later write of the same key rests on what the first one found.
        let expected = self
            .writes
            .get(&key)
            .map_or(expected, |earlier| earlier.expected);
        self.writes.insert(
            key.clone(),
            StateWrite {
                key,
                value,
                expected,
            },
        );
        Ok(())
    }

    fn put_if(
        &mut self,
        key: String,
        value: Vec<u8>,
        version: Option<u64>,
    ) -> Result<(), StateError> {
        if self.map.get(&key).map(|entry| entry.version) != version {
            return Err(StateError::Conflict);
        }
        let expected = version.map_or(Expected::Absent, Expected::Version);
        self.write(key, Some(value), expected)
    }
}

impl GuestState {
    fn view(&mut self, key: &str) -> Result<&mut StateView, StateError> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(StateError::InvalidKey);
        }
        self.state.as_mut().ok_or(StateError::NoSession)
    }
}

impl Host for GuestState {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<Entry>, StateError>> {
        let view = match self.view(&key) {
            Ok(view) => view,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(view.map.get(&key).map(|entry| Entry {
            value: entry.value.to_vec(),
            version: entry.version,
        })))
    }

    fn put(&mut self, key: String, value: Vec<u8>) -> wasmtime::Result<Result<(), StateError>> {
        let view = self.view(&key);
        Ok(view.and_then(|view| view.write(key, Some(value), Expected::Anything)))
    }

    fn put_if(
        &mut self,
        key: String,
        value: Vec<u8>,
        version: Option<u64>,
    ) -> wasmtime::Result<Result<(), StateError>> {
        let view = self.view(&key);
        Ok(view.and_then(|view| view.put_if(key, value, version)))
    }

    fn delete(&mut self, key: String) -> wasmtime::Result<Result<(), StateError>> {
        let view = self.view(&key);
        Ok(view.and_then(|view| match view.map.contains_key(&key) {
            true => view.write(key, None, Expected::Anything),
            false => Ok(()),
        }))
    }

    fn keys(&mut self) -> wasmtime::Result<Result<Vec<String>, StateError>> {
        let keys = self
            .state
            .as_ref()
            .map(|view| view.map.keys().cloned().collect());
        Ok(keys.ok_or(StateError::NoSession))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(entries: &[(&str, &str, u64)], limit: u64) -> StateView {
        let entries = entries.iter().map(|(key, value, version)| {
            let entry = StateEntry {
                value: value.as_bytes().into(),
                version: *version,
            };
            ((*key).to_owned(), entry)
        });
        StateView::new(entries.collect(), limit)
    }

    #[test]
    fn a_write_names_what_the_first_look_found() {
        let mut state = view(&[("a", "1", 7)], 100);
        let put_if = |state: &mut StateView, value: &str, version| {
            state.put_if("a".to_owned(), value.into(), version)
        };
        assert!(matches!(
            put_if(&mut state, "2", None),
            Err(StateError::Conflict)
        ));
        assert!(matches!(
            put_if(&mut state, "2", Some(6)),
            Err(StateError::Conflict)
        ));
        assert!(put_if(&mut state, "2", Some(7)).is_ok());
        assert!(matches!(
            put_if(&mut state, "3", Some(7)),
            Err(StateError::Conflict)
        ));
        assert!(put_if(&mut state, "3", Some(OWN)).is_ok());
        let writes = state.into_writes();
        assert_eq!(writes.len(), 1);
        assert_eq!(writes[0].expected, Expected::Version(7));
        assert_eq!(writes[0].value.as_deref(), Some(b"3".as_slice()));
    }

    #[test]
    fn counts_keys_and_values_and_lets_shrink() {
        let mut state = view(&[("a", "12345678", 1)], 10);
        let put = |state: &mut StateView, key: &str, value: &str| {
            state.write(key.to_owned(), Some(value.into()), Expected::Anything)
        };
        assert!(matches!(
            put(&mut state, "b", "1"),
            Err(StateError::Full(10))
        ));
        assert!(put(&mut state, "a", "123456789").is_ok(), "exactly full");
        assert!(put(&mut state, "a", "1").is_ok());
        assert!(put(&mut state, "b", "123456").is_ok());
        assert!(
            state
                .write("a".to_owned(), None, Expected::Anything)
                .is_ok()
        );
        assert_eq!(state.size, 7);
        let mut lowered = view(&[("a", "12345678", 1)], 4);
        assert!(put(&mut lowered, "a", "1234567").is_ok());
        assert!(put(&mut lowered, "a", "12345678").is_err());
    }
}
