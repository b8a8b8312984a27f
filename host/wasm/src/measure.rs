//! The bare loop that a check is measured against: what an embedder would write who trusts
//! the guest, with the same engine, the same linked component and the same settings.

use std::sync::Arc;

use damper_call::ToolCall;
use wasmtime::component::Resource;

use crate::{
    around::Around,
    imports::call::CallFacts,
    plugin::Guest,
    state::{About, Endowment, unlimited_store},
};

/// More epochs than any run of a bench has.
const NEVER: u64 = 1 << 60;

/// Asks a guard about one call, over and over, on fresh instances without limits.
#[derive(Debug)]
pub struct BareLoop {
    guest: Arc<Guest>,
    call: Arc<ToolCall>,
    around: Arc<Around>,
}

impl BareLoop {
    /// Returns a loop over this guard and this call.
    pub fn new(guest: Arc<Guest>, call: Arc<ToolCall>) -> Self {
        Self {
            guest,
            call,
            around: Arc::new(Around::of_this_host(Vec::new())),
        }
    }

    /// Goes round once: instance, settings, question, end. Returns whether the guard allows.
    pub async fn check(&self) -> anyhow::Result<bool> {
        self.turn()
            .await
            .map_err(|error| anyhow::anyhow!("{error:#}"))
    }

    async fn turn(&self) -> wasmtime::Result<bool> {
        use crate::bindings::exports::damper::plugin::guard::Verdict;
        let endowment = Endowment {
            about: About::call(&self.call),
            around: Arc::clone(&self.around),
            grants: self.guest.grants.clone(),
            limits: self.guest.limits.clone(),
            settings: Arc::clone(&self.guest.settings),
            state: None,
            seed: [0; 32],
        };
        let hooks = &self.guest.plugin.hooks;
        let mut store = unlimited_store(hooks.instance.engine(), endowment);
        store.set_epoch_deadline(NEVER);
        let instance = hooks.instance.instantiate_async(&mut store).await?;
        if let Some(configure) = &hooks.configure {
            let configure = configure.load(&mut store, &instance)?;
            let taken = configure
                .call_configure(&mut store, &self.guest.settings)
                .await?;
            taken.map_err(|_errors| wasmtime::Error::msg("the guard refused its settings"))?;
        }
        let Some(guard) = &hooks.guard else {
            return Err(wasmtime::Error::msg("the plugin is no guard"));
        };
        let guard = guard.load(&mut store, &instance)?;
        let facts = CallFacts {
            call: Arc::clone(&self.call),
            around: Arc::clone(&self.around),
        };
        let owned = store.data_mut().table.push(facts)?;
        let verdict = guard
            .call_check(&mut store, Resource::new_borrow(owned.rep()))
            .await?;
        Ok(matches!(verdict, Verdict::Allow))
    }
}
