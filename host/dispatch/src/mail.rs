//! Mail between sessions: whether a message interrupts whom it is for.

use std::sync::Arc;

use damper_call::{Delivery, Mail};
use damper_journal::{Durability, MailRouted};
use damper_wasm::{Asked, Hook, Runtime};

use crate::{
    Machinery,
    asking::{Asking, ask},
    generation::Generation,
};

/// Asks every plugin that covers the sender. Interrupting wins; one that fails has no say.
pub(crate) async fn delivery(
    machinery: &Machinery,
    generation: &Generation,
    mail: &Arc<Mail>,
) -> Delivery {
    let mut delivery = Delivery::Deliver;
    for row in generation.asked(Hook::Message, &mail.sender) {
        let Some(loaded) = row.plugin(Hook::Message) else {
            continue;
        };
        let asking = Asking {
            row: &row,
            loaded,
            guest: &loaded.hook,
            hook: "message.before-send",
            session: &mail.sender.id,
            call: None,
            input: Runtime::digest(mail.text.as_bytes()),
            may_repeat: true,
        };
        let question = |guest: Asked| machinery.runtime.before_send(guest, mail);
        let Ok(answer) = ask(machinery, asking, question).await else {
            continue;
        };
        if answer > delivery {
            delivery = answer;
            let event = MailRouted {
                row: row.id.clone(),
                recipient: mail.recipient.id.clone(),
                delivery,
            };
            let journal = &machinery.journal;
            if let Err(error) = journal
                .append(&mail.sender.id, event, Durability::Process)
                .await
            {
                tracing::error!(%error, "cannot journal how a message is delivered");
            }
        }
    }
    delivery
}
