//! A host that dies at a chosen record, so that tests can prove what a restart makes of it.
//!
//! With `DAMPER_CRASH_AFTER_RECORD=N` in its environment, the host kills its own process with
//! SIGKILL right after the commit of the N-th record since it started, before anybody is told
//! of the commit. Only builds with debug assertions look at the variable; a release does not
//! contain the wrapper.

use std::path::Path;

use damper_journal::{Journal, JournalError};

/// Opens the journal, with the crash point that the environment asks for.
pub(crate) fn open_journal(path: &Path) -> Result<Journal, JournalError> {
    #[cfg(debug_assertions)]
    if let Some(left) = point::from_environment() {
        let store = damper_journal::SqliteStore::open(path)?;
        return Journal::start(point::Crashing { store, left });
    }
    Journal::open(path)
}

#[cfg(debug_assertions)]
mod point {
    use damper_journal::{Durability, Entry, JournalError, Reader, SqliteStore, Store};

    const VARIABLE: &str = "DAMPER_CRASH_AFTER_RECORD";

    /// Returns after how many records to die, if that is wanted.
    pub(super) fn from_environment() -> Option<usize> {
        let value = std::env::var(VARIABLE).ok()?;
        match value.parse() {
            Ok(records) => Some(records),
            Err(error) => {
                tracing::warn!(%error, value, "{VARIABLE} is no number; the host will not crash");
                None
            }
        }
    }

    /// A journal's file that takes the process with it.
    pub(super) struct Crashing {
        pub(super) store: SqliteStore,
        /// How many records are still to be committed.
        pub(super) left: usize,
    }

    impl Store for Crashing {
        fn commit(
            &mut self,
            batch: &[Entry],
            durability: Durability,
        ) -> Result<Vec<u64>, JournalError> {
            let committed = self.store.commit(batch, durability)?;
            self.left = self.left.saturating_sub(committed.len());
            if self.left == 0 {
                die();
            }
            Ok(committed)
        }

        fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
            self.store.reader()
        }
    }

    fn die() {
        use rustix::process::{Signal, getpid, kill_process};
        // The process is gone before the call returns; if it cannot be killed, the test that
        // waits for its end says so.
        if let Err(error) = kill_process(getpid(), Signal::KILL) {
            tracing::error!(%error, "cannot crash");
        }
    }
}
