//! Records: events with their place in the journal, and content with its hash.

use std::time::{SystemTime, UNIX_EPOCH};

use damper_call::{
    ApprovalId, CallId, Digest, EffectClass, Expected, SessionId, StateScope, StateWrite,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{Event, JournalError, Refusal};

/// The largest event, in bytes of JSON: four times the limit of a call's arguments, while a
/// full queue of the largest still fits in memory.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// The largest content: room for a long log of a build, small enough to be held in memory.
const MAX_CONTENT_BYTES: usize = 64 << 20;

/// Returns the stream of what belongs to no session: starts, stops and edits.
///
/// A caller cannot choose this name by accident, since it begins with a colon.
pub fn host_stream() -> SessionId {
    ":host"
        .parse()
        .expect("letters and a colon make a valid id")
}

/// One event and its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The place: later records have larger numbers, in all streams together. Gaps mean nothing.
    pub seq: u64,
    /// The stream.
    pub session: SessionId,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    pub(crate) fn from_stored(
        seq: u64,
        session: SessionId,
        at_ms: u64,
        kind: String,
        body: &str,
    ) -> serde_json::Result<Self> {
        let body: Value = serde_json::from_str(body)?;
        Ok(Self {
            seq,
            session,
            at_ms,
            event: Event::from_stored(kind, body),
        })
    }
}

/// An event on its way into the journal, encoded.
#[derive(Debug, Clone)]
pub struct NewRecord {
    pub(crate) session: SessionId,
    pub(crate) at_ms: u64,
    pub(crate) kind: String,
    pub(crate) call: Option<CallId>,
    pub(crate) body: String,
    pub(crate) step: Option<Step>,
}

impl NewRecord {
    /// Encodes an event that happens now. Fails for one above 4 MiB.
    pub fn now(session: SessionId, event: &Event) -> Result<Self, JournalError> {
        let encode = |error: serde_json::Error| JournalError::Encode {
            kind: event.kind().to_owned(),
            why: error.to_string(),
        };
        let body = event.body().map_err(encode)?;
        check_size("an event", body.len(), MAX_EVENT_BYTES)?;
        Ok(Self {
            session,
            at_ms: now_ms(),
            kind: event.kind().to_owned(),
            call: event.call().cloned(),
            body,
            step: Step::of(event),
        })
    }
}

/// Bytes and their hash.
#[derive(Debug, Clone)]
pub struct Content {
    /// Always the SHA-256 of `bytes`.
    digest: Digest,
    bytes: Vec<u8>,
}

impl Content {
    /// Hashes bytes. Fails for more than 64 MiB.
    pub fn new(bytes: Vec<u8>) -> Result<Self, JournalError> {
        check_size("a content", bytes.len(), MAX_CONTENT_BYTES)?;
        Ok(Self {
            digest: digest_of(&bytes),
            bytes,
        })
    }

    /// Returns the hash.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// One thing to commit.
#[derive(Debug, Clone)]
pub enum Entry {
    /// An event.
    Record(NewRecord),
    /// A content; one that is already there is left alone.
    Content(Content),
    /// Changes of a plugin's state, made one after the other. Each value gets a version that no
    /// value ever had.
    State {
        /// Whose state it is.
        scope: StateScope,
        /// The changes.
        writes: Vec<StateWrite>,
    },
}

impl Entry {
    pub(crate) fn is_record(&self) -> bool {
        matches!(self, Self::Record(_))
    }
}

/// What an event does to the call or the approval it is about: each step is taken once.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Call(CallId, CallStep),
    Approval(ApprovalId, ApprovalStep),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CallStep {
    Receive,
    Start(EffectClass),
    Finish,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ApprovalStep {
    Raise,
    Answer,
}

impl Step {
    fn of(event: &Event) -> Option<Self> {
        let call = |call: &CallId, step| Some(Self::Call(call.clone(), step));
        let approval = |id: &ApprovalId, step| Some(Self::Approval(id.clone(), step));
        match event {
            Event::CallReceived(event) => call(&event.call, CallStep::Receive),
            Event::CallStarted(event) => call(&event.call, CallStep::Start(event.effect)),
            Event::CallFinished(event) => call(&event.call, CallStep::Finish),
            Event::ApprovalRaised(event) => approval(&event.approval, ApprovalStep::Raise),
            Event::ApprovalAnswered(event) => approval(&event.approval, ApprovalStep::Answer),
            Event::SessionOpened(_)
            | Event::CallDecided(_)
            | Event::HostStarted(_)
            | Event::HostStopped(_)
            | Event::ProfileApplied(_)
            | Event::GuestFailed(_)
            | Event::StateKept(_)
            | Event::ToolsWithheld(_)
            | Event::MailRouted(_)
            | Event::Other { .. } => None,
        }
    }

    /// Returns the error for a step that cannot be taken.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::Call(id, CallStep::Receive) => Refusal::CallKnown(id.clone()),
            Self::Call(id, CallStep::Start(_)) => Refusal::CallCannotStart(id.clone()),
            Self::Call(id, CallStep::Finish) => Refusal::CallCannotEnd(id.clone()),
            Self::Approval(id, ApprovalStep::Raise) => Refusal::ApprovalKnown(id.clone()),
            Self::Approval(id, ApprovalStep::Answer) => Refusal::ApprovalNotOpen(id.clone()),
        }
    }
}

/// Returns whether a write may be made where there is a value of this version, or none.
pub(crate) fn is_met(expected: Expected, version: Option<u64>) -> bool {
    match expected {
        Expected::Anything => true,
        Expected::Absent => version.is_none(),
        Expected::Version(wanted) => version == Some(wanted),
    }
}

/// Returns the SHA-256 of some bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::from_sha256(Sha256::digest(bytes).into())
}

fn check_size(what: &'static str, bytes: usize, limit: usize) -> Result<(), JournalError> {
    if bytes > limit {
        return Err(JournalError::TooLarge { what, bytes, limit });
    }
    Ok(())
}

/// Returns the time that records are stamped with: milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    // A clock before 1970 is a clock that is not set; the order is in `seq` anyway.
    let since_epoch = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}
