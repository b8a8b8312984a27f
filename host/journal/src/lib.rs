//! The journal: what happened, in order, kept before it counts.
//!
//! Owns the streams of typed events, one per session, the content that events refer to by
//! hash, what plugins keep, and the rule that each step of a call happens once. Knows nothing of guards, tools
//! or wire formats, and takes what it is given as already redacted.
//!
//! [`Journal`] is what the rest of the host uses. It feeds one writer thread, which commits
//! everything that waits as one transaction. Behind it are the backends, [`MemoryStore`] and
//! [`SqliteStore`], under one trait and one contract suite (`tests/contract.rs`).

mod error;
mod event;
mod journal;
mod measure;
mod memory;
mod record;
mod recover;
mod sqlite;
mod store;

pub use error::{JournalError, Refusal};
pub use event::{
    Answer, ApprovalAnswered, ApprovalRaised, CallDecided, CallFinished, CallReceived, CallStarted,
    Change, Event, GuestFailed, HostStarted, HostStopped, MailRouted, Opinion, ProfileApplied,
    Reviewed, RowResult, SessionOpened, StateKept, ToolsWithheld,
};
pub use journal::Journal;
pub use measure::{Throughput, bare_appends, journalled_calls};
pub use memory::MemoryStore;
pub use record::{Content, Entry, NewRecord, Record, host_stream, now_ms};
pub use recover::Recovered;
pub use sqlite::SqliteStore;
pub use store::{CallState, Durability, OpenCall, Reader, Store};
