//! What is around a plugin in a plain `cargo test`.
//!
//! A test makes [`Surroundings`], asks the plugin in them, and looks at what it answered
//! and left behind. As in the host each [`Surroundings::ask`] is one hook: state is
//! committed when it answers, and what is not granted is refused. Code that runs outside
//! of `ask` has no session and no grants.
//!
//! ```
//! use damper_guest::{Grants, clock, log, testing::Surroundings};
//!
//! let mut around = Surroundings::new();
//! assert_eq!(around.ask(clock::now), Err(clock::ClockError::NotGranted));
//!
//! around.grants = Grants { clock: true, ..Grants::NONE };
//! assert_eq!(around.ask(clock::now), Ok(around.now));
//!
//! around.ask(|| log::info("two words"));
//! assert_eq!(around.log[0].message, "two words");
//! ```

pub(crate) mod imports;

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Grants, Session,
    files::{FileError, FileKind, Metadata},
    http::{Request, Response},
    log::Level,
    roster::Mode,
    state::{Entry, StateError},
};

/// What the host would offer to a plugin, and what the plugin left behind.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// What the row grants.
    pub grants: Grants,
    /// The session that the hook is asked for. None as while a row is loaded.
    pub session: Option<Session<'static>>,
    /// The other live sessions of its tree.
    pub others: Vec<Session<'static>>,
    /// The modes there are, in their order.
    pub modes: Vec<Mode>,
    /// When the call arrived, since the Unix epoch.
    pub started: Duration,
    /// What time it is, since the Unix epoch.
    pub now: Duration,
    /// What keys and values together may take.
    pub max_state_bytes: u64,
    /// The lines that were logged.
    pub log: Vec<Line>,
    /// The requests that were sent, those to hosts that are not granted left out.
    pub requests: Vec<Request>,
    files: BTreeMap<String, File>,
    responses: BTreeMap<(String, String), Response>,
    state: BTreeMap<String, Entry>,
    /// The version of the last committed write, so that each write has another one.
    last_version: u64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// What it says.
    pub message: String,
}

#[derive(Debug, Clone)]
struct File {
    metadata: Result<Metadata, FileError>,
    content: Vec<u8>,
}

thread_local! {
    /// Those of the hook that this thread asks right now.
    static AROUND: RefCell<Surroundings> = RefCell::new(Surroundings {
        session: None,
        ..Surroundings::new()
    });
}

impl Surroundings {
    /// Returns those of the session `session-1` in `/workspace`: nothing is granted,
    /// nothing is kept, and there are no files.
    #[expect(
        clippy::new_without_default,
        reason = "there are no default surroundings, only some that are easy to start from"
    )]
    pub fn new() -> Self {
        const STARTED: Duration = Duration::from_secs(1_750_000_000);
        Self {
            grants: Grants::NONE,
            session: Some(Session::new()),
            others: Vec::new(),
            modes: Vec::new(),
            started: STARTED,
            now: STARTED,
            max_state_bytes: 1024 * 1024,
            log: Vec::new(),
            requests: Vec::new(),
            files: BTreeMap::new(),
            responses: BTreeMap::new(),
            state: BTreeMap::new(),
            last_version: 0,
        }
    }

    /// Grants these things, for instance `MyGuard::GRANTS`.
    #[must_use]
    pub const fn granting(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }

    /// Asks for this session.
    #[must_use]
    pub fn in_session(mut self, session: Session<'static>) -> Self {
        self.session = Some(session);
        self
    }

    /// Puts a regular file at an absolute path.
    #[must_use]
    pub fn with_file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        let metadata = Metadata {
            resolved: path.to_owned(),
            kind: FileKind::File,
            size: content.len().try_into().ok(),
        };
        let file = File {
            metadata: Ok(metadata),
            content,
        };
        self.files.insert(path.to_owned(), file);
        self
    }

    /// Says what an absolute path leads to, or why nothing is known of it.
    #[must_use]
    pub fn with_path(mut self, path: &str, metadata: Result<Metadata, FileError>) -> Self {
        let file = File {
            metadata,
            content: Vec::new(),
        };
        self.files.insert(path.to_owned(), file);
        self
    }

    /// Says what a request is answered with. One without an answer fails.
    #[must_use]
    pub fn with_response(mut self, method: &str, url: &str, response: Response) -> Self {
        self.responses
            .insert((method.to_owned(), url.to_owned()), response);
        self
    }

    /// Adds a mode that can run.
    #[must_use]
    pub fn with_mode(mut self, id: &str) -> Self {
        self.modes.push(Mode {
            id: id.to_owned(),
            name: id.to_owned(),
            description: String::new(),
            cannot_run: None,
        });
        self
    }

    /// Keeps a value, as [`state::write`](crate::state::write) would.
    ///
    /// # Errors
    ///
    /// As of `write`.
    pub fn keep(&mut self, key: &str, value: &impl Serialize) -> Result<(), StateError> {
        self.ask(|| crate::state::write(key, value))
    }

    /// Returns a value that is kept, as [`state::read`](crate::state::read) would.
    ///
    /// # Errors
    ///
    /// As of `read`.
    pub fn kept<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, StateError> {
        self.ask(|| crate::state::read(key))
    }

    /// Runs one hook in these surroundings and commits what it writes.
    ///
    /// What it left behind is here afterwards; of a hook that panics nothing is.
    pub fn ask<R>(&mut self, hook: impl FnOnce() -> R) -> R {
        let mut outer = Outer(Some(AROUND.replace(self.clone())));
        let answer = hook();
        if let Some(outer) = outer.0.take() {
            *self = AROUND.replace(outer);
        }
        self.commit();
        answer
    }

    fn commit(&mut self) {
        for entry in self.state.values_mut().filter(|entry| entry.version == 0) {
            self.last_version += 1;
            entry.version = self.last_version;
        }
    }
}

/// The surroundings that were left for others, and come back even after a panic.
struct Outer(Option<Surroundings>);

impl Drop for Outer {
    fn drop(&mut self) {
        if let Some(outer) = self.0.take() {
            AROUND.set(outer);
        }
    }
}
