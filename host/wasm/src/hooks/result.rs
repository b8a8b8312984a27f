//! `result.review`

use std::sync::Arc;

use damper_call::{Disposition, ToolAnswer};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend, nonsense, not_exported, shorten};
use crate::{
    bindings::exports::damper::plugin::result,
    imports::outcome::OutcomeFacts,
    plugin::Hooks,
    state::{About, GuestState},
};

/// What becomes of an answer.
pub(crate) struct Review(pub(crate) Arc<ToolAnswer>);

impl Question for Review {
    type Answer = Disposition;

    fn about(&self) -> About {
        About::call(&self.0.call)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Disposition, Refusal> {
        let indices = hooks
            .result
            .as_ref()
            .ok_or_else(|| not_exported("result"))?;
        let hook = indices.load(&mut *store, instance)?;
        let outcome = lend(store, OutcomeFacts(Arc::clone(&self.0)))?;
        let text = |text: String, what: &str| match text.trim().is_empty() {
            true => Err(nonsense(format!("{what} without a text"))),
            false => Ok(shorten(&text)),
        };
        Ok(match hook.call_review(store, outcome).await? {
            result::Disposition::Keep => Disposition::Keep,
            result::Disposition::Annotate(note) => Disposition::Annotate(text(note, "a note")?),
            result::Disposition::Withhold(why) => {
                Disposition::Withhold(text(why, "a withheld answer")?)
            }
        })
    }
}
