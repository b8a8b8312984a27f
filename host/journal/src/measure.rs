//! Durable calls a second, and the bare baseline beside them, for benches.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use damper_call::{CallId, EffectClass, Ending, SessionId, VerdictKind};
use rusqlite::Connection;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    CallDecided, CallFinished, CallReceived, CallStarted, Durability, Event, Journal, JournalError,
};

/// After so many pages SQLite copies its log into the file and begins it anew.
const PAGES_OF_A_FULL_LOG: usize = 1100;

/// How many appends were committed and how long that took.
#[derive(Debug, Clone, Copy)]
pub struct Throughput {
    /// The appends.
    pub appends: usize,
    /// From the first to the last.
    pub elapsed: Duration,
}

impl Throughput {
    /// Returns the appends in a second.
    pub fn per_second(&self) -> f64 {
        self.appends as f64 / self.elapsed.as_secs_f64()
    }
}

/// Journals the four records of calls whose effect is `once`, from many sessions at once.
///
/// Each session makes one call after the other, as an agent does; each append waits for its
/// commit. To be run on a runtime of several threads.
pub async fn journalled_calls(
    journal: &Journal,
    sessions: usize,
    calls_each: usize,
) -> Result<Throughput, JournalError> {
    let start = Instant::now();
    let mut running: JoinSet<Result<(), JournalError>> = JoinSet::new();
    for _ in 0..sessions {
        let journal = journal.clone();
        running.spawn(async move {
            let session = SessionId::unique();
            for _ in 0..calls_each {
                for (event, durability) in events_of_a_call() {
                    journal.append(&session, event, durability).await?;
                }
            }
            Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.map_err(|_panicked| JournalError::Closed)??;
    }
    Ok(Throughput {
        appends: sessions * calls_each * events_of_a_call().len(),
        elapsed: start.elapsed(),
    })
}

/// Inserts the same texts into a bare table, on one connection at `synchronous=FULL`, each in
/// a transaction of its own.
///
/// `path` is a file that does not exist, on the disk that is measured.
pub fn bare_appends(path: &Path, calls: usize) -> rusqlite::Result<Throughput> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
         CREATE TABLE records (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
    )?;
    let mut insert = connection.prepare("INSERT INTO records (body) VALUES (?1)")?;
    // The log of a journal in use has its full length; making it longer would cost the baseline
    // an update of the file's size with each append.
    for _ in 0..PAGES_OF_A_FULL_LOG {
        insert.execute(["warm"])?;
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    let start = Instant::now();
    for _ in 0..calls {
        for (event, _) in events_of_a_call() {
            let body = event
                .body()
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
            insert.execute([body])?;
        }
    }
    Ok(Throughput {
        appends: calls * events_of_a_call().len(),
        elapsed: start.elapsed(),
    })
}

fn events_of_a_call() -> [(Event, Durability); 4] {
    let call = CallId::unique();
    let received = CallReceived {
        call: call.clone(),
        tool: "bash".to_owned(),
        arguments: json!({"command": "cargo test --workspace"}),
        cwd: "/home/user/project".into(),
        generation: 1,
    };
    let decided = CallDecided {
        call: call.clone(),
        verdict: VerdictKind::Allow,
        opinions: Vec::new(),
    };
    let started = CallStarted {
        call: call.clone(),
        effect: EffectClass::Once,
    };
    let finished = CallFinished {
        call,
        ending: Ending::Completed,
        text: "test result: ok".repeat(20),
        structured: None,
        is_error: false,
        truncated: false,
        content: None,
        reviews: Vec::new(),
        micros: 1_000,
    };
    [
        (received.into(), Durability::Process),
        (decided.into(), Durability::Process),
        (started.into(), Durability::Power),
        (finished.into(), Durability::Process),
    ]
}
