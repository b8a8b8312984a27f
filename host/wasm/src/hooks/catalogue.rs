//! `catalogue.withhold`

use std::{collections::BTreeSet, sync::Arc};

use damper_call::{Session, ToolDefinition};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_session, not_exported};
use crate::{
    bindings::exports::damper::plugin::catalogue::ListedTool,
    imports::call::{effect, source},
    plugin::Hooks,
    state::{About, GuestState},
};

/// Which of all tools a session does not get.
pub(crate) struct Withhold {
    pub(crate) session: Arc<Session>,
    pub(crate) tools: Arc<[Arc<ToolDefinition>]>,
}

impl Question for Withhold {
    /// Names of tools that exist: others have no meaning.
    type Answer = BTreeSet<String>;

    fn about(&self) -> About {
        About::session(&self.session)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<BTreeSet<String>, Refusal> {
        let indices = hooks
            .catalogue
            .as_ref()
            .ok_or_else(|| not_exported("catalogue"))?;
        let catalogue = indices.load(&mut *store, instance)?;
        let session = lend_session(store, &self.session)?;
        let tools: Vec<ListedTool> = self
            .tools
            .iter()
            .map(|tool| ListedTool {
                name: tool.name.clone(),
                source: source(&tool.source),
                effect: effect(tool.effect),
            })
            .collect();
        let withheld: BTreeSet<String> = catalogue
            .call_withhold(store, session, &tools)
            .await?
            .into_iter()
            .collect();
        Ok(self
            .tools
            .iter()
            .filter(|tool| withheld.contains(&tool.name))
            .map(|tool| tool.name.clone())
            .collect())
    }
}
