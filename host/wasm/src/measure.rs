//! The bare loop that a check is measured against: what an embedder would write who trusts
//! the guest, with the same engine, the same linked component and the same settings.

use std::sync::Arc;

use damper_call::ToolCall;
use wasmtime::component::Resource;

use crate::{
    imports::call::{CallFacts, Machine},
    plugin::Guest,
    state::{Endowment, unlimited_store},
};

/// More epochs than any run of a bench has.
const NEVER: u64 = 1 << 60;

/// Asks a guard about one call, over and over, on fresh instances without limits.
#[derive(Debug)]
pub struct BareLoop {
    guest: Arc<Guest>,
    call: Arc<ToolCall>,
    machine: Arc<Machine>,
}

impl BareLoop {
    /// Returns a loop over this guard and this call.
    pub fn new(guest: Arc<Guest>, call: Arc<ToolCall>) -> Self {
        Self {
            guest,
            call,
            machine: Arc::new(Machine::of_this_host()),
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
            call: Some(Arc::clone(&self.call)),
            machine: Arc::clone(&self.machine),
            grants: self.guest.grants.clone(),
            limits: self.guest.limits.clone(),
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
            machine: Arc::clone(&self.machine),
        };
        let owned = store.data_mut().table.push(facts)?;
        let verdict = guard
            .call_check(&mut store, Resource::new_borrow(owned.rep()))
            .await?;
        Ok(matches!(verdict, Verdict::Allow))
    }
}
