//! `persona.sections`

use std::sync::Arc;

use damper_call::{Section, Session};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_session, not_exported, sections_of};
use crate::{
    plugin::Hooks,
    state::{About, GuestState},
};

/// The sections for a session that is being composed.
pub(crate) struct Sections(pub(crate) Arc<Session>);

impl Question for Sections {
    type Answer = Vec<Section>;

    fn about(&self) -> About {
        About::session(&self.0)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Vec<Section>, Refusal> {
        let indices = hooks
            .persona
            .as_ref()
            .ok_or_else(|| not_exported("persona"))?;
        let persona = indices.load(&mut *store, instance)?;
        let session = lend_session(store, &self.0)?;
        Ok(sections_of(persona.call_sections(store, session).await?)?)
    }
}
