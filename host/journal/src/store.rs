//! What a backend does.

use damper_call::{CallId, Digest, EffectClass, SessionId, StateMap, StateScope};

use crate::{Entry, JournalError, Record};

/// What a committed entry outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The end of the process, however sudden: the bytes are with the operating system.
    Process,
    /// A loss of power: the bytes are on the disk.
    Power,
}

/// The writing side of a backend. One thread owns it.
pub trait Store: Send + 'static {
    /// Commits a batch as one: all of it or, on an error, nothing of it.
    ///
    /// Returns the numbers of its records, in order. Fails with `Refused` for a step of a
    /// call or approval that was taken before or has no beginning, and for a write to a state
    /// that is not as expected.
    fn commit(&mut self, batch: &[Entry], durability: Durability)
    -> Result<Vec<u64>, JournalError>;

    /// Opens a reading side, which sees each batch from when its commit returns.
    fn reader(&self) -> Result<Box<dyn Reader>, JournalError>;
}

/// The reading side of a backend.
///
/// `after` is the number of the last record already seen, 0 for none; lists are in the order
/// of the records and hold at most `limit` of them.
pub trait Reader: Send + 'static {
    /// Returns the number of the newest record, 0 for an empty journal.
    fn newest(&self) -> Result<u64, JournalError>;

    /// Returns the records of all streams.
    fn records(&self, after: u64, limit: usize) -> Result<Vec<Record>, JournalError>;

    /// Returns the records of one session.
    fn session_records(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, JournalError>;

    /// Returns all records of one call.
    fn call_records(&self, call: &CallId) -> Result<Vec<Record>, JournalError>;

    /// Returns at most `limit` calls whose id begins with `prefix`, by id.
    fn calls_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<CallId>, JournalError>;

    /// Returns the call received last.
    fn last_call(&self) -> Result<Option<CallId>, JournalError>;

    /// Returns how far a call is.
    fn call_state(&self, call: &CallId) -> Result<CallState, JournalError>;

    /// Returns the calls that were received and have no outcome, the oldest first.
    fn open_calls(&self) -> Result<Vec<OpenCall>, JournalError>;

    /// Returns the `approval/raised` records that have no answer, the oldest first.
    fn open_approvals(&self) -> Result<Vec<Record>, JournalError>;

    /// Returns the bytes with this hash, `None` if they were never put.
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError>;

    /// Returns what a plugin keeps, as one batch left it.
    fn state(&self, scope: &StateScope) -> Result<StateMap, JournalError>;
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// The journal does not know it.
    Unseen,
    /// It arrived; its tool has not run.
    Received,
    /// Its tool was started.
    Started(EffectClass),
    /// It has its outcome: the `call/finished` record.
    Finished(Box<Record>),
}

/// A call that was received and has no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// The call.
    pub call: CallId,
    /// Its session.
    pub session: SessionId,
    /// The number of its `call/received` record.
    pub received: u64,
    /// What its tool may do, once it was started.
    pub started: Option<EffectClass>,
}
