//! `approval.route`

use std::sync::Arc;

use damper_call::{Question as Approval, Whom};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend, nonsense, not_exported, shorten};
use crate::{
    bindings::exports::damper::plugin::approval,
    imports::question::QuestionFacts,
    plugin::Hooks,
    state::{About, GuestState},
};

/// Who is asked.
pub(crate) struct Route(pub(crate) Arc<Approval>);

impl Question for Route {
    type Answer = Whom;

    fn about(&self) -> About {
        About::call(&self.0.call)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Whom, Refusal> {
        let indices = hooks
            .approval
            .as_ref()
            .ok_or_else(|| not_exported("approval"))?;
        let hook = indices.load(&mut *store, instance)?;
        let question = lend(store, QuestionFacts(Arc::clone(&self.0)))?;
        Ok(match hook.call_route(store, question).await? {
            approval::Whom::DefaultPath => Whom::DefaultPath,
            approval::Whom::OwnSession => Whom::OwnSession,
            approval::Whom::RootSession => Whom::RootSession,
            approval::Whom::Nobody(why) if why.trim().is_empty() => {
                return Err(nonsense("a refusal without a reason").into());
            }
            approval::Whom::Nobody(why) => Whom::Nobody(shorten(&why)),
        })
    }
}
