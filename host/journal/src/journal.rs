//! The handle: many tasks append, one thread commits what waits as one transaction.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use damper_call::{CallId, Digest, SessionId, StateMap, StateScope};
use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    CallState, Content, Durability, Entry, Event, JournalError, MemoryStore, NewRecord, OpenCall,
    Reader, Record, SqliteStore, Store,
};

/// How many appends may wait, and so how many are committed as one; a further one waits for a
/// place. Far more than the 64 calls that may be in flight.
const QUEUE: usize = 256;

/// A handle to the journal. Clones are cheap and share one writer.
///
/// The file is closed when the last clone is dropped, which waits for the commit under way.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` only while the journal is being dropped.
    queue: Option<mpsc::Sender<Request>>,
    writer: Option<thread::JoinHandle<()>>,
    newest: watch::Receiver<u64>,
    /// Shared by the blocking tasks that read; `None` only while the journal is being dropped.
    reader: Arc<Mutex<Option<Box<dyn Reader>>>>,
}

/// A batch and who waits for it.
struct Request {
    batch: Vec<Entry>,
    durability: Durability,
    answer: oneshot::Sender<Result<Vec<u64>, JournalError>>,
}

impl Journal {
    /// Opens the journal in a file. See [`SqliteStore::open`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        Self::start(SqliteStore::open(path)?)
    }

    /// Returns an empty journal in memory.
    pub fn in_memory() -> Result<Self, JournalError> {
        Self::start(MemoryStore::new())
    }

    /// Starts the writer of a backend.
    pub fn start(store: impl Store) -> Result<Self, JournalError> {
        let reader = store.reader()?;
        let (publish, newest) = watch::channel(reader.newest()?);
        let (queue, requests) = mpsc::channel(QUEUE);
        let writer = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write(store, requests, &publish))
            .map_err(|error| JournalError::NoWriter {
                why: error.to_string(),
            })?;
        Ok(Self {
            shared: Arc::new(Shared {
                queue: Some(queue),
                writer: Some(writer),
                newest,
                reader: Arc::new(Mutex::new(Some(reader))),
            }),
        })
    }

    /// Appends an event to a session's stream and returns its number once it is committed.
    ///
    /// An append whose future is dropped may be committed or not.
    pub async fn append(
        &self,
        session: &SessionId,
        event: impl Into<Event>,
        durability: Durability,
    ) -> Result<u64, JournalError> {
        let record = NewRecord::now(session.clone(), &event.into())?;
        let committed = self.commit(vec![Entry::Record(record)], durability).await?;
        committed.first().copied().ok_or(JournalError::Closed)
    }

    /// Puts bytes and returns their hash once they are committed.
    pub async fn put(
        &self,
        bytes: Vec<u8>,
        durability: Durability,
    ) -> Result<Digest, JournalError> {
        let content = Content::new(bytes)?;
        let digest = content.digest();
        self.commit(vec![Entry::Content(content)], durability)
            .await?;
        Ok(digest)
    }

    /// Commits a batch as one, all of it or nothing, and returns the numbers of its records.
    pub async fn commit(
        &self,
        batch: Vec<Entry>,
        durability: Durability,
    ) -> Result<Vec<u64>, JournalError> {
        let (answer, committed) = oneshot::channel();
        let request = Request {
            batch,
            durability,
            answer,
        };
        let queue = self.shared.queue.as_ref().ok_or(JournalError::Closed)?;
        queue
            .send(request)
            .await
            .map_err(|_writer_gone| JournalError::Closed)?;
        committed
            .await
            .map_err(|_writer_gone| JournalError::Closed)?
    }

    /// Returns the number of the newest record, to be waited on for the next.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.newest.clone()
    }

    /// Returns the records of all streams after a number, at most `limit` of them.
    pub async fn records(&self, after: u64, limit: usize) -> Result<Vec<Record>, JournalError> {
        self.read(move |reader| reader.records(after, limit)).await
    }

    /// Returns the records of one session after a number, at most `limit` of them.
    pub async fn session_records(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Record>, JournalError> {
        let session = session.clone();
        self.read(move |reader| reader.session_records(&session, after, limit))
            .await
    }

    /// Returns all records of one call.
    pub async fn call_records(&self, call: &CallId) -> Result<Vec<Record>, JournalError> {
        let call = call.clone();
        self.read(move |reader| reader.call_records(&call)).await
    }

    /// Returns at most `limit` calls whose id begins with `prefix`, by id.
    pub async fn calls_with_prefix(
        &self,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<CallId>, JournalError> {
        let prefix = prefix.to_owned();
        self.read(move |reader| reader.calls_with_prefix(&prefix, limit))
            .await
    }

    /// Returns the call received last.
    pub async fn last_call(&self) -> Result<Option<CallId>, JournalError> {
        self.read(|reader| reader.last_call()).await
    }

    /// Returns how far a call is, so that one that has its outcome is answered from it.
    pub async fn outcome_of(&self, call: &CallId) -> Result<CallState, JournalError> {
        let call = call.clone();
        self.read(move |reader| reader.call_state(&call)).await
    }

    /// Returns the calls that were received and have no outcome, the oldest first.
    pub async fn open_calls(&self) -> Result<Vec<OpenCall>, JournalError> {
        self.read(|reader| reader.open_calls()).await
    }

    /// Returns the `approval/raised` records that have no answer, the oldest first.
    pub async fn open_approvals(&self) -> Result<Vec<Record>, JournalError> {
        self.read(|reader| reader.open_approvals()).await
    }

    /// Returns the bytes with this hash, `None` if they were never put.
    pub async fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, JournalError> {
        let digest = *digest;
        self.read(move |reader| reader.content(&digest)).await
    }

    /// Returns what a plugin keeps; empty if it never kept anything.
    pub async fn state(&self, scope: &StateScope) -> Result<StateMap, JournalError> {
        let scope = scope.clone();
        self.read(move |reader| reader.state(&scope)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Reader) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let reader = Arc::clone(&self.shared.reader);
        let reading = tokio::task::spawn_blocking(move || {
            let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            read(reader.as_deref().ok_or(JournalError::Closed)?)
        });
        reading.await.map_err(|_stopped| JournalError::Closed)?
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let newest = *self.shared.newest.borrow();
        f.debug_struct("Journal").field("newest", &newest).finish()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The reader first: the last connection that closes tidies the log, and that is the writer's.
        drop(
            self.reader
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        drop(self.queue.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the journal's writer has panicked");
        }
    }
}

fn write(
    mut store: impl Store,
    mut requests: mpsc::Receiver<Request>,
    newest: &watch::Sender<u64>,
) {
    // What comes in during one commit is the next group. Waiting up to 300 microseconds for more
    // made the groups hardly larger when measured.
    let mut group = Vec::new();
    while requests.blocking_recv_many(&mut group, QUEUE) > 0 {
        commit_group(&mut store, std::mem::take(&mut group), newest);
    }
}

/// Commits a group as one transaction, or, where that cannot be, each request for itself.
fn commit_group(store: &mut impl Store, group: Vec<Request>, newest: &watch::Sender<u64>) {
    let durability = group.iter().map(|request| request.durability).max();
    let mut batch = Vec::new();
    let mut waiting = Vec::new();
    for request in group {
        let start = batch.len();
        batch.extend(request.batch);
        waiting.push((start..batch.len(), request.durability, request.answer));
    }
    let Some(durability) = durability else {
        return;
    };
    match store.commit(&batch, durability) {
        Ok(committed) => {
            publish(newest, &committed);
            let mut committed = committed.into_iter();
            for (range, _, answer) in waiting {
                let records = batch[range]
                    .iter()
                    .filter(|entry| entry.is_record())
                    .count();
                answer_with(answer, Ok(committed.by_ref().take(records).collect()));
            }
        }
        // One that is refused, or too large for what is left of the disk, must not take its
        // neighbours with it.
        Err(JournalError::Refused(_) | JournalError::DiskFull { .. }) if waiting.len() > 1 => {
            for (range, durability, answer) in waiting {
                let result = store.commit(&batch[range], durability);
                if let Ok(committed) = &result {
                    publish(newest, committed);
                }
                answer_with(answer, result);
            }
        }
        Err(error) => {
            // A refusal is the caller's affair: the journal is fine.
            if !matches!(error, JournalError::Refused(_)) {
                tracing::error!(%error, waiting = waiting.len(), "cannot write the journal");
            }
            for (_, _, answer) in waiting {
                answer_with(answer, Err(error.clone()));
            }
        }
    }
}

fn publish(newest: &watch::Sender<u64>, committed: &[u64]) {
    if let Some(seq) = committed.last() {
        newest.send_replace(*seq);
    }
}

fn answer_with(
    answer: oneshot::Sender<Result<Vec<u64>, JournalError>>,
    result: Result<Vec<u64>, JournalError>,
) {
    if answer.send(result).is_err() {
        tracing::debug!("an append was committed after its caller had gone");
    }
}
