//! The backend that forgets: for tests, and for hosts that must leave nothing on a disk.

use std::{
    collections::{BTreeMap, HashMap, hash_map},
    ops::Bound,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use damper_call::{
    ApprovalId, CallId, Digest, EffectClass, SessionId, StateEntry, StateMap, StateScope,
    StateWrite,
};

use crate::{
    CallState, Durability, Entry, JournalError, NewRecord, OpenCall, Reader, Record, Refusal,
    Store,
    record::{ApprovalStep, CallStep, Step, is_met},
};

/// A journal in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// Shared by the writer thread, which holds it for a batch, and the readers.
    tables: Arc<RwLock<Tables>>,
}

impl MemoryStore {
    /// Returns an empty journal.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn commit(
        &mut self,
        batch: &[Entry],
        _durability: Durability,
    ) -> Result<Vec<u64>, JournalError> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let before = tables.records.len();
        let mut undo = Vec::new();
        for entry in batch {
            if let Err(error) = tables.apply(entry, &mut undo) {
                tables.records.truncate(before);
                tables.take_back(undo);
                return Err(error);
            }
        }
        let committed = &tables.records[before..];
        Ok(committed.iter().map(|record| record.seq).collect())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(MemoryReader {
            tables: Arc::clone(&self.tables),
        }))
    }
}

#[derive(Debug, Default)]
struct Tables {
    /// The record numbered n is at n - 1.
    records: Vec<Record>,
    calls: BTreeMap<CallId, Call>,
    approvals: BTreeMap<ApprovalId, Approval>,
    contents: HashMap<Digest, Vec<u8>>,
    states: BTreeMap<StateScope, StateMap>,
    /// The version of the value written last. Not taken back, so that none is given out twice.
    state_version: u64,
}

#[derive(Debug, Clone)]
struct Call {
    session: SessionId,
    received: u64,
    started: Option<EffectClass>,
    finished: Option<u64>,
}

#[derive(Debug, Clone)]
struct Approval {
    raised: u64,
    answered: bool,
}

/// What a batch replaced, so that it can be taken back.
enum Undo {
    Call(CallId, Option<Call>),
    Approval(ApprovalId, Option<Approval>),
    Content(Digest),
    State(StateScope, String, Option<StateEntry>),
}

impl Tables {
    fn apply(&mut self, entry: &Entry, undo: &mut Vec<Undo>) -> Result<(), JournalError> {
        match entry {
            Entry::Record(record) => self.append(record, undo)?,
            Entry::Content(content) => {
                if let hash_map::Entry::Vacant(place) = self.contents.entry(content.digest()) {
                    place.insert(content.bytes().to_vec());
                    undo.push(Undo::Content(content.digest()));
                }
            }
            Entry::State { scope, writes } => {
                for write in writes {
                    undo.push(self.write_state(scope, write)?);
                }
            }
        }
        Ok(())
    }

    fn write_state(
        &mut self,
        scope: &StateScope,
        write: &StateWrite,
    ) -> Result<Undo, JournalError> {
        let version = self
            .states
            .get(scope)
            .and_then(|state| state.get(&write.key))
            .map(|entry| entry.version);
        if !is_met(write.expected, version) {
            return Err(Refusal::StateConflict(scope.clone()).into());
        }
        let next = write.value.as_ref().map(|value| {
            self.state_version += 1;
            StateEntry {
                value: Arc::clone(value),
                version: self.state_version,
            }
        });
        let before = self.set_state(scope, &write.key, next);
        Ok(Undo::State(scope.clone(), write.key.clone(), before))
    }

    /// Sets or removes a value and returns the one before.
    fn set_state(
        &mut self,
        scope: &StateScope,
        key: &str,
        entry: Option<StateEntry>,
    ) -> Option<StateEntry> {
        match entry {
            Some(entry) => {
                let state = self.states.entry(scope.clone()).or_default();
                state.insert(key.to_owned(), entry)
            }
            None => self.states.get_mut(scope)?.remove(key),
        }
    }

    fn append(&mut self, new: &NewRecord, undo: &mut Vec<Undo>) -> Result<(), JournalError> {
        let seq = self.records.len() as u64 + 1;
        let record = Record::from_stored(
            seq,
            new.session.clone(),
            new.at_ms,
            new.kind.clone(),
            &new.body,
        )
        .map_err(|error| JournalError::Encode {
            kind: new.kind.clone(),
            why: error.to_string(),
        })?;
        if let Some(step) = &new.step {
            undo.push(self.take(step, &record).ok_or_else(|| step.refusal())?);
        }
        self.records.push(record);
        Ok(())
    }

    /// Takes a step; `None` if it cannot be taken.
    fn take(&mut self, step: &Step, record: &Record) -> Option<Undo> {
        match step {
            Step::Call(id, step) => {
                let next = next_call(self.calls.get(id), *step, record)?;
                let before = self.calls.insert(id.clone(), next);
                Some(Undo::Call(id.clone(), before))
            }
            Step::Approval(id, step) => {
                let next = next_approval(self.approvals.get(id), *step, record)?;
                let before = self.approvals.insert(id.clone(), next);
                Some(Undo::Approval(id.clone(), before))
            }
        }
    }

    fn take_back(&mut self, undo: Vec<Undo>) {
        for step in undo.into_iter().rev() {
            match step {
                Undo::Call(id, Some(before)) => {
                    self.calls.insert(id, before);
                }
                Undo::Call(id, None) => {
                    self.calls.remove(&id);
                }
                Undo::Approval(id, Some(before)) => {
                    self.approvals.insert(id, before);
                }
                Undo::Approval(id, None) => {
                    self.approvals.remove(&id);
                }
                Undo::Content(digest) => {
                    self.contents.remove(&digest);
                }
                Undo::State(scope, key, before) => {
                    self.set_state(&scope, &key, before);
                }
            }
        }
    }

    fn record(&self, seq: u64) -> Option<Record> {
        let index = usize::try_from(seq).ok()?.checked_sub(1)?;
        self.records.get(index).cloned()
    }

    fn since(&self, after: u64) -> &[Record] {
        let start = usize::try_from(after).unwrap_or(usize::MAX);
        self.records.get(start..).unwrap_or_default()
    }
}

fn next_call(current: Option<&Call>, step: CallStep, record: &Record) -> Option<Call> {
    match (step, current) {
        (CallStep::Receive, None) => Some(Call {
            session: record.session.clone(),
            received: record.seq,
            started: None,
            finished: None,
        }),
        (CallStep::Start(effect), Some(call))
            if call.started.is_none() && call.finished.is_none() =>
        {
            Some(Call {
                started: Some(effect),
                ..call.clone()
            })
        }
        (CallStep::Finish, Some(call)) if call.finished.is_none() => Some(Call {
            finished: Some(record.seq),
            ..call.clone()
        }),
        (CallStep::Receive | CallStep::Start(_) | CallStep::Finish, _) => None,
    }
}

fn next_approval(
    current: Option<&Approval>,
    step: ApprovalStep,
    record: &Record,
) -> Option<Approval> {
    match (step, current) {
        (ApprovalStep::Raise, None) => Some(Approval {
            raised: record.seq,
            answered: false,
        }),
        (ApprovalStep::Answer, Some(approval)) if !approval.answered => Some(Approval {
            answered: true,
            ..approval.clone()
        }),
        (ApprovalStep::Raise | ApprovalStep::Answer, _) => None,
    }
}

struct MemoryReader {
    tables: Arc<RwLock<Tables>>,
}

impl MemoryReader {
    fn tables(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader for MemoryReader {
    fn newest(&self) -> Result<u64, JournalError> {
        Ok(self.tables().records.len() as u64)
    }

    fn records(&self, after: u64, limit: usize) -> Result<Vec<Record>, JournalError> {
        let tables = self.tables();
        Ok(tables.since(after).iter().take(limit).cloned().collect())
    }

    fn session_records(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, JournalError> {
        let tables = self.tables();
        let of_session = |record: &&Record| record.session == *session;
        let found = tables.since(after).iter().filter(of_session);
        Ok(found.take(limit).cloned().collect())
    }

    fn call_records(&self, call: &CallId) -> Result<Vec<Record>, JournalError> {
        let tables = self.tables();
        let of_call = |record: &&Record| record.event.call() == Some(call);
        Ok(tables.records.iter().filter(of_call).cloned().collect())
    }

    fn calls_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<CallId>, JournalError> {
        let tables = self.tables();
        let found = match prefix.parse::<CallId>() {
            Ok(first) => tables
                .calls
                .range((Bound::Included(first), Bound::Unbounded)),
            Err(_not_an_id) if prefix.is_empty() => tables.calls.range::<CallId, _>(..),
            Err(_not_an_id) => return Ok(Vec::new()),
        };
        Ok(found
            .map(|(id, _)| id)
            .take_while(|id| id.as_str().starts_with(prefix))
            .take(limit)
            .cloned()
            .collect())
    }

    fn last_call(&self) -> Result<Option<CallId>, JournalError> {
        let tables = self.tables();
        let last = tables.calls.iter().max_by_key(|(_, call)| call.received);
        Ok(last.map(|(id, _)| id.clone()))
    }

    fn call_state(&self, call: &CallId) -> Result<CallState, JournalError> {
        let tables = self.tables();
        let Some(call) = tables.calls.get(call) else {
            return Ok(CallState::Unseen);
        };
        let finish = call.finished.and_then(|seq| tables.record(seq));
        Ok(match (finish, call.started) {
            (Some(record), _) => CallState::Finished(Box::new(record)),
            (None, Some(effect)) => CallState::Started(effect),
            (None, None) => CallState::Received,
        })
    }

    fn open_calls(&self) -> Result<Vec<OpenCall>, JournalError> {
        let tables = self.tables();
        let mut open: Vec<OpenCall> = tables
            .calls
            .iter()
            .filter(|(_, call)| call.finished.is_none())
            .map(|(id, call)| OpenCall {
                call: id.clone(),
                session: call.session.clone(),
                received: call.received,
                started: call.started,
            })
            .collect();
        open.sort_by_key(|call| call.received);
        Ok(open)
    }

    fn open_approvals(&self) -> Result<Vec<Record>, JournalError> {
        let tables = self.tables();
        let open = tables
            .approvals
            .values()
            .filter(|approval| !approval.answered);
        let mut raised: Vec<u64> = open.map(|approval| approval.raised).collect();
        raised.sort_unstable();
        Ok(raised
            .into_iter()
            .filter_map(|seq| tables.record(seq))
            .collect())
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.tables().contents.get(digest).cloned())
    }

    fn state(&self, scope: &StateScope) -> Result<StateMap, JournalError> {
        // A scope that was never written to keeps nothing.
        Ok(self.tables().states.get(scope).cloned().unwrap_or_default())
    }
}
