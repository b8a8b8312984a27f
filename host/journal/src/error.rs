//! What can go wrong. Each error goes to everybody whose append it failed, so it is `Clone`.

use std::path::PathBuf;

use damper_call::{ApprovalId, CallId, StateScope};

/// Why the journal did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Written by a newer Damper.
    #[error(
        "{} has schema {found} and this damper knows schemas up to {known}: run the newer damper, \
         or stop it and put a backup (`{}.vN.bak`, N at most {known}) in the file's place",
        path.display(), path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema it has.
        found: u32,
        /// The newest schema this build knows.
        known: u32,
    },
    /// Some other program's file, or a journal damaged beyond recognition.
    #[error(
        "{} is not a damper journal, or is damaged beyond recognition: move it away, and a new \
         journal is made, or put a backup (`{}.vN.bak`) in its place",
        path.display(), path.display()
    )]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// The file, or something in it, cannot be what was written.
    #[error(
        "{} is damaged ({why}): stop damper, keep a copy of the file, then put a backup \
         (`{}.vN.bak`) in its place or move it away",
        path.display(), path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// The file or its folder cannot be written.
    #[error(
        "cannot write {} ({why}): give the user that runs damper write permission on the file and \
         its folder",
        path.display()
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// No space is left. The journal works again as soon as there is some.
    #[error("no space left for {}: calls are refused until some is freed", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// Another process holds the file.
    #[error("{} is held by another process: stop the other damper", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The disk or the database failed in another way.
    #[error("cannot use {}: {why}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The event contradicts what is journalled.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// An event or a content above the limit.
    #[error("{what} of {bytes} bytes is above the journal's limit of {limit} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// An event that has no JSON form.
    #[error("cannot encode {kind}: {why}")]
    Encode {
        /// The event's kind.
        kind: String,
        /// What the encoder said.
        why: String,
    },
    /// The system gave no thread to write with.
    #[error("cannot start the journal's writer: {why}")]
    NoWriter {
        /// What the system said.
        why: String,
    },
    /// The journal was closed, or its writer is gone.
    #[error("the journal is closed")]
    Closed,
}

/// An event that contradicts what is journalled. Nothing of its batch is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The call was received before.
    #[error("call {0} is journalled already")]
    CallKnown(CallId),
    /// The call cannot start: never received, started before, or ended.
    #[error("call {0} cannot start: it was not received, has started already, or has ended")]
    CallCannotStart(CallId),
    /// The call cannot end: never received, or ended before.
    #[error("call {0} cannot end: it was not received, or has ended already")]
    CallCannotEnd(CallId),
    /// The approval was raised before.
    #[error("approval {0} is journalled already")]
    ApprovalKnown(ApprovalId),
    /// The approval cannot be answered: never raised, or answered before.
    #[error("approval {0} cannot be answered: it was not raised, or has an answer already")]
    ApprovalNotOpen(ApprovalId),
    /// A value is not, or no longer, what a write expected.
    #[error(
        "plugin {} of row {} wrote to a value that is not what it read in session {}: ask it once more",
        .0.plugin, .0.row, .0.session
    )]
    StateConflict(StateScope),
}
