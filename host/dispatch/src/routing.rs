//! Routing: who is asked when a guard asks.

use std::sync::Arc;

use damper_call::{Question, RowId, Whom};
use damper_wasm::{Asked, Hook, Runtime};

use crate::{
    Machinery,
    asking::{Asking, ask},
    generation::Generation,
};

/// Asks the plugins in the order of the profile until one says whom to ask. Returns its row too.
/// A plugin that fails has no say, and without any the default path is taken.
pub(crate) async fn route(
    machinery: &Machinery,
    generation: &Generation,
    question: &Arc<Question>,
) -> (Whom, Option<RowId>) {
    let call = &question.call;
    for row in generation.asked(Hook::Approval, &call.session) {
        let Some(loaded) = row.plugin(Hook::Approval) else {
            continue;
        };
        let asking = Asking {
            row: &row,
            loaded,
            guest: &loaded.hook,
            hook: "approval.route",
            session: &call.session.id,
            call: Some(&call.id),
            input: Runtime::digest(call.arguments.as_bytes()),
            may_repeat: true,
        };
        let put = |guest: Asked| machinery.runtime.route(guest, question);
        match ask(machinery, asking, put).await {
            Ok(Whom::DefaultPath) | Err(_) => {}
            Ok(whom) => return (whom, Some(row.id.clone())),
        }
    }
    (Whom::DefaultPath, None)
}
