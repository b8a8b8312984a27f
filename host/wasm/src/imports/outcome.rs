//! `types.outcome`: what a tool answered.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use super::call::{Answer, CallFacts};
use crate::{
    bindings::damper::plugin::types::{Ending, HostOutcome},
    state::GuestState,
};

/// The most of a text that a guest is handed: as much as the arguments of a call.
const MAX_TEXT: usize = 1 << 20;

/// The answer as guests see it.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OutcomeFacts(pub(crate) Arc<host::ToolAnswer>);

impl GuestState {
    fn answer(&self, outcome: &Resource<OutcomeFacts>) -> Answer<Arc<host::ToolAnswer>> {
        Ok(Arc::clone(&self.table.get(outcome)?.0))
    }
}

impl HostOutcome for GuestState {
    fn call(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<Resource<CallFacts>> {
        let answer = self.answer(&outcome)?;
        self.give_call(&answer.call)
    }

    fn ending(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<Ending> {
        Ok(match self.answer(&outcome)?.ending {
            host::Ending::Completed => Ending::Completed,
            host::Ending::Failed => Ending::Failed,
            host::Ending::TimedOut => Ending::TimedOut,
            host::Ending::Cancelled => Ending::Cancelled,
            other @ (host::Ending::Denied | host::Ending::Unknown) => {
                Ending::Other(other.as_str().to_owned())
            }
        })
    }

    fn is_error(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<bool> {
        Ok(self.answer(&outcome)?.output.is_error)
    }

    fn text(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<String> {
        let answer = self.answer(&outcome)?;
        let text = &answer.output.text;
        Ok(text[..text.floor_char_boundary(MAX_TEXT)].to_owned())
    }

    fn text_bytes(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<u64> {
        Ok(self.answer(&outcome)?.output.text.len() as u64)
    }

    fn structured(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<Option<String>> {
        let answer = self.answer(&outcome)?;
        let text = answer.output.structured.as_ref().map(ToString::to_string);
        Ok(text.filter(|text| text.len() <= MAX_TEXT))
    }

    fn micros(&mut self, outcome: Resource<OutcomeFacts>) -> Answer<u64> {
        Ok(self.answer(&outcome)?.micros)
    }

    fn drop(&mut self, outcome: Resource<OutcomeFacts>) -> wasmtime::Result<()> {
        self.table.delete(outcome)?;
        Ok(())
    }
}
