//! `message.before-send`

use std::sync::Arc;

use damper_call::{Delivery, Mail};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend, not_exported};
use crate::{
    bindings::exports::damper::plugin::message,
    imports::mail::MailFacts,
    plugin::Hooks,
    state::{About, GuestState},
};

/// How a message is delivered.
pub(crate) struct BeforeSend(pub(crate) Arc<Mail>);

impl Question for BeforeSend {
    type Answer = Delivery;

    fn about(&self) -> About {
        About::session(&self.0.sender)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Delivery, Refusal> {
        let indices = hooks
            .message
            .as_ref()
            .ok_or_else(|| not_exported("message"))?;
        let hook = indices.load(&mut *store, instance)?;
        let mail = lend(store, MailFacts(Arc::clone(&self.0)))?;
        Ok(match hook.call_before_send(store, mail).await? {
            message::Delivery::Deliver => Delivery::Deliver,
            message::Delivery::InterruptFirst => Delivery::InterruptFirst,
        })
    }
}
