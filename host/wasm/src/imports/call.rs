//! `types.call`: the facts of the call that a guest is asked about.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use crate::{
    around::Around,
    bindings::damper::plugin::types::{
        ApprovalPolicy, Command, Dialect, EffectClass, Host, HostCall, ModeBinding, ToolSource,
    },
    state::GuestState,
};

/// The call as guests see it, with the facts about the machine that it carries along.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct CallFacts {
    pub(crate) call: Arc<host::ToolCall>,
    pub(crate) around: Arc<Around>,
}

/// Returns a path as guests see it.
pub(super) fn text(path: &std::path::Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns paths as guests see them.
pub(super) fn texts(paths: &[std::path::PathBuf]) -> Vec<String> {
    paths.iter().map(|path| text(path)).collect()
}

impl Host for GuestState {}

pub(super) type Answer<T> = wasmtime::Result<T>;

impl GuestState {
    fn facts(&self, call: &Resource<CallFacts>) -> Answer<&CallFacts> {
        Ok(self.table.get(call)?)
    }

    /// Hands a guest a call of its own.
    pub(super) fn give_call(&mut self, call: &Arc<host::ToolCall>) -> Answer<Resource<CallFacts>> {
        let facts = CallFacts {
            call: Arc::clone(call),
            around: Arc::clone(&self.around),
        };
        Ok(self.table.push(facts)?)
    }
}

impl HostCall for GuestState {
    fn id(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.id.to_string())
    }

    fn tool(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.tool.name.clone())
    }

    fn source(&mut self, call: Resource<CallFacts>) -> Answer<ToolSource> {
        Ok(source(&self.facts(&call)?.call.tool.source))
    }

    fn arguments(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.arguments.to_string())
    }

    fn command(&mut self, call: Resource<CallFacts>) -> Answer<Option<Command>> {
        let call = &self.facts(&call)?.call;
        let Some((text, argument)) = call.command.as_ref().zip(call.tool.command.as_ref()) else {
            return Ok(None);
        };
        let dialect = match &argument.dialect {
            host::Dialect::Bash => Dialect::Bash,
            host::Dialect::Powershell => Dialect::Powershell,
            host::Dialect::Cmd => Dialect::Cmd,
            host::Dialect::Other(name) => Dialect::Other(name.clone()),
        };
        Ok(Some(Command {
            text: text.clone(),
            dialect,
        }))
    }

    fn paths(&mut self, call: Resource<CallFacts>) -> Answer<Vec<String>> {
        Ok(self.facts(&call)?.call.paths.clone())
    }

    fn roots(&mut self, call: Resource<CallFacts>) -> Answer<Vec<String>> {
        Ok(texts(&self.facts(&call)?.call.session.roots))
    }

    fn cwd(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(text(&self.facts(&call)?.call.cwd))
    }

    fn home(&mut self, call: Resource<CallFacts>) -> Answer<Option<String>> {
        Ok(self.facts(&call)?.around.home.as_deref().map(text))
    }

    fn temp_roots(&mut self, call: Resource<CallFacts>) -> Answer<Vec<String>> {
        Ok(texts(&self.facts(&call)?.around.temp_roots))
    }

    fn platform(&mut self, _call: Resource<CallFacts>) -> Answer<String> {
        Ok(std::env::consts::OS.to_owned())
    }

    fn session(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.session.id.to_string())
    }

    fn root_session(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.session.root.to_string())
    }

    fn mode(&mut self, call: Resource<CallFacts>) -> Answer<ModeBinding> {
        Ok(mode(&self.facts(&call)?.call.session.mode))
    }

    fn role(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.session.role.as_str().to_owned())
    }

    fn kind(&mut self, call: Resource<CallFacts>) -> Answer<Option<String>> {
        Ok(self.facts(&call)?.call.session.kind.clone())
    }

    fn depth(&mut self, call: Resource<CallFacts>) -> Answer<u32> {
        Ok(self.facts(&call)?.call.session.depth)
    }

    fn door(&mut self, call: Resource<CallFacts>) -> Answer<String> {
        Ok(self.facts(&call)?.call.session.door.as_str().to_owned())
    }

    fn agent(&mut self, call: Resource<CallFacts>) -> Answer<Option<String>> {
        Ok(self.facts(&call)?.call.session.agent.clone())
    }

    fn policy(&mut self, call: Resource<CallFacts>) -> Answer<ApprovalPolicy> {
        Ok(policy(self.facts(&call)?.call.session.policy))
    }

    fn root_policy(&mut self, call: Resource<CallFacts>) -> Answer<ApprovalPolicy> {
        Ok(policy(self.facts(&call)?.call.session.root_policy))
    }

    fn preset(&mut self, call: Resource<CallFacts>) -> Answer<Option<String>> {
        Ok(self.facts(&call)?.call.session.preset.clone())
    }

    fn effect(&mut self, call: Resource<CallFacts>) -> Answer<EffectClass> {
        Ok(effect(self.facts(&call)?.call.tool.effect))
    }

    fn drop(&mut self, call: Resource<CallFacts>) -> wasmtime::Result<()> {
        self.table.delete(call)?;
        Ok(())
    }
}

pub(super) const fn policy(policy: host::ApprovalPolicy) -> ApprovalPolicy {
    match policy {
        host::ApprovalPolicy::Ask => ApprovalPolicy::Ask,
        host::ApprovalPolicy::Never => ApprovalPolicy::Never,
    }
}

pub(super) fn mode(mode: &host::ModeBinding) -> ModeBinding {
    match mode {
        host::ModeBinding::None => ModeBinding::None,
        host::ModeBinding::Bound(mode) => ModeBinding::Bound(mode.clone()),
        host::ModeBinding::Unknown => ModeBinding::Unknown,
    }
}

/// Returns where a tool comes from in the words of the contract.
pub(crate) fn source(source: &host::ToolSource) -> ToolSource {
    match source {
        host::ToolSource::Native => ToolSource::Native,
        host::ToolSource::Plugin(row) => ToolSource::Plugin(row.to_string()),
    }
}

/// Returns an effect class in the words of the contract.
pub(crate) const fn effect(effect: host::EffectClass) -> EffectClass {
    match effect {
        host::EffectClass::None => EffectClass::None,
        host::EffectClass::Idempotent => EffectClass::Idempotent,
        host::EffectClass::Once => EffectClass::Once,
    }
}
