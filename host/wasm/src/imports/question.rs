//! `types.question`: the facts of a question to a person.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use super::{
    call::{Answer, CallFacts},
    session::SessionFacts,
};
use crate::{bindings::damper::plugin::types::HostQuestion, state::GuestState};

/// The question as guests see it.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct QuestionFacts(pub(crate) Arc<host::Question>);

impl GuestState {
    fn question(&self, question: &Resource<QuestionFacts>) -> Answer<Arc<host::Question>> {
        Ok(Arc::clone(&self.table.get(question)?.0))
    }
}

impl HostQuestion for GuestState {
    fn id(&mut self, question: Resource<QuestionFacts>) -> Answer<String> {
        Ok(self.question(&question)?.id.to_string())
    }

    fn call(&mut self, question: Resource<QuestionFacts>) -> Answer<Resource<CallFacts>> {
        let question = self.question(&question)?;
        self.give_call(&question.call)
    }

    fn session(&mut self, question: Resource<QuestionFacts>) -> Answer<Resource<SessionFacts>> {
        let question = self.question(&question)?;
        self.give_session(&question.call.session)
    }

    fn rules(&mut self, question: Resource<QuestionFacts>) -> Answer<Vec<String>> {
        Ok(self.question(&question)?.rules.clone())
    }

    fn reason(&mut self, question: Resource<QuestionFacts>) -> Answer<String> {
        Ok(self.question(&question)?.reason.clone())
    }

    fn attended(&mut self, question: Resource<QuestionFacts>) -> Answer<bool> {
        Ok(self.question(&question)?.attended)
    }

    fn drop(&mut self, question: Resource<QuestionFacts>) -> wasmtime::Result<()> {
        self.table.delete(question)?;
        Ok(())
    }
}
