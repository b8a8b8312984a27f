//! `types.mail`: the facts of a message.

use std::sync::Arc;

use damper_call as host;
use wasmtime::component::Resource;

use super::{call::Answer, session::SessionFacts};
use crate::{bindings::damper::plugin::types::HostMail, state::GuestState};

/// The message as guests see it.
#[derive(Debug, Clone)]
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct MailFacts(pub(crate) Arc<host::Mail>);

impl GuestState {
    fn mail(&self, mail: &Resource<MailFacts>) -> Answer<Arc<host::Mail>> {
        Ok(Arc::clone(&self.table.get(mail)?.0))
    }
}

impl HostMail for GuestState {
    fn sender(&mut self, mail: Resource<MailFacts>) -> Answer<Resource<SessionFacts>> {
        let mail = self.mail(&mail)?;
        self.give_session(&mail.sender)
    }

    fn recipient(&mut self, mail: Resource<MailFacts>) -> Answer<Resource<SessionFacts>> {
        let mail = self.mail(&mail)?;
        self.give_session(&mail.recipient)
    }

    fn text(&mut self, mail: Resource<MailFacts>) -> Answer<String> {
        Ok(self.mail(&mail)?.text.to_string())
    }

    fn recipient_is_busy(&mut self, mail: Resource<MailFacts>) -> Answer<bool> {
        Ok(self.mail(&mail)?.recipient_is_busy)
    }

    fn drop(&mut self, mail: Resource<MailFacts>) -> wasmtime::Result<()> {
        self.table.delete(mail)?;
        Ok(())
    }
}
