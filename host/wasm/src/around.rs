//! What guests can learn of the host around them: the machine, the modes, live sessions.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
};

use damper_call::{Session, SessionId};

use crate::http::HttpClient;

/// A mode as guests see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// The name people see.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Why it cannot run, if it cannot.
    pub cannot_run: Option<String>,
}

/// What guests can learn of the host around them.
#[derive(Debug, Default)]
pub struct Around {
    pub(crate) home: Option<PathBuf>,
    pub(crate) temp_roots: Vec<PathBuf>,
    /// The folders that no grant covers.
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) http: HttpClient,
    /// Doors add sessions while guests look.
    sessions: Mutex<HashMap<SessionId, Weak<Session>>>,
    /// A reload replaces the modes while guests look.
    modes: RwLock<Arc<[Mode]>>,
}

impl Around {
    /// Reads the environment of the host.
    pub(crate) fn of_this_host(hidden: Vec<PathBuf>) -> Self {
        let mut temp_roots: Vec<PathBuf> = ["TMPDIR", "TMP", "TEMP"]
            .iter()
            .filter_map(std::env::var_os)
            .map(PathBuf::from)
            .collect();
        if cfg!(unix) {
            temp_roots.push(PathBuf::from("/tmp"));
        }
        temp_roots.retain(|root| root.is_absolute());
        temp_roots.sort();
        temp_roots.dedup();
        Self {
            home: std::env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute()),
            temp_roots,
            hidden,
            ..Self::default()
        }
    }

    /// Makes a session known for as long as somebody holds it.
    pub fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Looking at all for each that comes is cheap only once the table doubled.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|_id, session| session.strong_count() > 0);
        }
        sessions.insert(session.id.clone(), Arc::downgrade(session));
    }

    /// Returns a live session.
    pub fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        self.sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)?
            .upgrade()
    }

    /// Returns the live sessions of a tree, by id.
    pub fn tree(&self, root: &SessionId) -> Vec<Arc<Session>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tree: Vec<_> = sessions
            .values()
            .filter_map(Weak::upgrade)
            .filter(|session| session.root == *root)
            .collect();
        tree.sort_by(|a, b| a.id.cmp(&b.id));
        tree
    }

    /// Replaces the modes, which are in the order that people see.
    pub fn set_modes(&self, modes: Vec<Mode>) {
        *self.modes.write().unwrap_or_else(PoisonError::into_inner) = modes.into();
    }

    /// Returns the modes.
    pub fn modes(&self) -> Arc<[Mode]> {
        Arc::clone(&self.modes.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use damper_call::Door;

    use super::*;

    #[test]
    fn a_session_is_known_while_somebody_holds_it() {
        let around = Around::default();
        let session = |id: &str, root: &str| {
            let mut session =
                Session::external(id.parse().unwrap(), Door::Mcp, None, PathBuf::from("/w"));
            session.root = root.parse().unwrap();
            Arc::new(session)
        };
        let root = session("root", "root");
        let worker = session("worker", "root");
        let stranger = session("stranger", "stranger");
        for session in [&worker, &root, &stranger] {
            around.add_session(session);
        }
        let ids = |tree: Vec<Arc<Session>>| {
            tree.iter()
                .map(|session| session.id.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(ids(around.tree(&root.id)), ["root", "worker"]);
        drop(worker);
        assert_eq!(ids(around.tree(&root.id)), ["root"]);
        assert!(around.session(&"worker".parse().unwrap()).is_none());
        for number in 0..1_000 {
            around.add_session(&session(&format!("passing-{number}"), "passing"));
        }
        let known = around.sessions.lock().unwrap().len();
        assert!(known < 100, "{known} sessions are remembered");
    }
}
