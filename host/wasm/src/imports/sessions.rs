//! `sessions`: the session that is asked about, and with a grant those of its tree.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use super::session::SessionFacts;
use crate::{
    bindings::damper::plugin::sessions::{Host, SessionsError},
    state::GuestState,
};

impl GuestState {
    /// Returns the tree a guest may look at: that of the session it is asked about.
    fn tree(&self) -> Result<&Arc<host::Session>, SessionsError> {
        match &self.session {
            _ if !self.grants.sessions => Err(SessionsError::NotGranted),
            Some(session) => Ok(session),
            None => Err(SessionsError::NotFound),
        }
    }

    fn relative(&self, id: &str) -> Result<Arc<host::Session>, SessionsError> {
        let own = self.tree()?;
        if own.id.as_str() == id {
            return Ok(Arc::clone(own));
        }
        let id = id.parse().map_err(|_no_id| SessionsError::NotFound)?;
        self.around
            .session(&id)
            .filter(|session| session.root == own.root)
            .ok_or(SessionsError::NotFound)
    }
}

impl Host for GuestState {
    fn current(&mut self) -> wasmtime::Result<Option<Resource<SessionFacts>>> {
        let session = self.session.clone();
        session
            .map(|session| self.give_session(&session))
            .transpose()
    }

    fn get(
        &mut self,
        id: String,
    ) -> wasmtime::Result<Result<Resource<SessionFacts>, SessionsError>> {
        match self.relative(&id) {
            Ok(session) => Ok(Ok(self.give_session(&session)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    fn tree(&mut self) -> wasmtime::Result<Result<Vec<String>, SessionsError>> {
        let root = match GuestState::tree(self) {
            Ok(session) => session.root.clone(),
            Err(error) => return Ok(Err(error)),
        };
        let tree = self.around.tree(&root);
        Ok(Ok(tree
            .iter()
            .map(|session| session.id.to_string())
            .collect()))
    }
}
