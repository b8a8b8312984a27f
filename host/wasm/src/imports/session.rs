//! `types.session`: the facts of a session.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use super::call::{Answer, mode, policy, text, texts};
use crate::{
    around::Around,
    bindings::damper::plugin::types::{ApprovalPolicy, HostSession, ModeBinding},
    state::GuestState,
};

/// The session as guests see it.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct SessionFacts {
    pub(crate) session: Arc<host::Session>,
    pub(crate) around: Arc<Around>,
}

impl GuestState {
    fn session_of(&self, session: &Resource<SessionFacts>) -> Answer<&host::Session> {
        Ok(&self.table.get(session)?.session)
    }

    /// Hands a guest a session of its own.
    pub(super) fn give_session(
        &mut self,
        session: &Arc<host::Session>,
    ) -> Answer<Resource<SessionFacts>> {
        let facts = SessionFacts {
            session: Arc::clone(session),
            around: Arc::clone(&self.around),
        };
        Ok(self.table.push(facts)?)
    }
}

impl HostSession for GuestState {
    fn id(&mut self, session: Resource<SessionFacts>) -> Answer<String> {
        Ok(self.session_of(&session)?.id.to_string())
    }

    fn root(&mut self, session: Resource<SessionFacts>) -> Answer<String> {
        Ok(self.session_of(&session)?.root.to_string())
    }

    fn parent(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self
            .session_of(&session)?
            .parent
            .as_ref()
            .map(ToString::to_string))
    }

    fn mode(&mut self, session: Resource<SessionFacts>) -> Answer<ModeBinding> {
        Ok(mode(&self.session_of(&session)?.mode))
    }

    fn recorded_mode(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self.session_of(&session)?.recorded_mode.clone())
    }

    fn role(&mut self, session: Resource<SessionFacts>) -> Answer<String> {
        Ok(self.session_of(&session)?.role.as_str().to_owned())
    }

    fn kind(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self.session_of(&session)?.kind.clone())
    }

    fn depth(&mut self, session: Resource<SessionFacts>) -> Answer<u32> {
        Ok(self.session_of(&session)?.depth)
    }

    fn door(&mut self, session: Resource<SessionFacts>) -> Answer<String> {
        Ok(self.session_of(&session)?.door.as_str().to_owned())
    }

    fn agent(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self.session_of(&session)?.agent.clone())
    }

    fn policy(&mut self, session: Resource<SessionFacts>) -> Answer<ApprovalPolicy> {
        Ok(policy(self.session_of(&session)?.policy))
    }

    fn root_policy(&mut self, session: Resource<SessionFacts>) -> Answer<ApprovalPolicy> {
        Ok(policy(self.session_of(&session)?.root_policy))
    }

    fn preset(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self.session_of(&session)?.preset.clone())
    }

    fn roots(&mut self, session: Resource<SessionFacts>) -> Answer<Vec<String>> {
        Ok(texts(&self.session_of(&session)?.roots))
    }

    fn cwd(&mut self, session: Resource<SessionFacts>) -> Answer<String> {
        Ok(text(&self.session_of(&session)?.cwd))
    }

    fn home(&mut self, session: Resource<SessionFacts>) -> Answer<Option<String>> {
        Ok(self.table.get(&session)?.around.home.as_deref().map(text))
    }

    fn temp_roots(&mut self, session: Resource<SessionFacts>) -> Answer<Vec<String>> {
        Ok(texts(&self.table.get(&session)?.around.temp_roots))
    }

    fn platform(&mut self, _session: Resource<SessionFacts>) -> Answer<String> {
        Ok(std::env::consts::OS.to_owned())
    }

    fn keep(&mut self, session: Resource<SessionFacts>) -> Answer<Vec<String>> {
        let composed = self.session_of(&session)?.composed.as_ref();
        Ok(composed.map_or_else(Vec::new, |composed| composed.composition.keep.clone()))
    }

    fn drop(&mut self, session: Resource<SessionFacts>) -> wasmtime::Result<()> {
        self.table.delete(session)?;
        Ok(())
    }
}
