//! `session.opened`

use std::sync::Arc;

use damper_call::{Opening, Preflight, Session};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_session, nonsense, not_exported, shorten};
use crate::{
    bindings::exports::damper::plugin::session,
    plugin::Hooks,
    state::{About, GuestState},
};

/// The most notices and the most preflights of one plugin.
const MAX_ITEMS: usize = 16;
/// The longest folder or name of a program, in bytes.
const MAX_PATH: usize = 4096;

/// What there is to say to a session that is being opened.
pub(crate) struct Opened(pub(crate) Arc<Session>);

impl Question for Opened {
    type Answer = Opening;

    fn about(&self) -> About {
        About::session(&self.0)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Opening, Refusal> {
        let indices = hooks
            .session
            .as_ref()
            .ok_or_else(|| not_exported("session"))?;
        let hook = indices.load(&mut *store, instance)?;
        let session = lend_session(store, &self.0)?;
        let opening = hook.call_opened(store, session).await?;
        if opening.notices.len() > MAX_ITEMS || opening.preflights.len() > MAX_ITEMS {
            return Err(nonsense(format!("more than {MAX_ITEMS} notices or preflights")).into());
        }
        let preflights = opening.preflights.into_iter().map(|preflight| {
            let (session::Preflight::Writable(text) | session::Preflight::Program(text)) =
                &preflight;
            if text.is_empty() || text.len() > MAX_PATH || text.chars().any(char::is_control) {
                return Err(nonsense(format!(
                    "a preflight of `{}`: 1 to {MAX_PATH} bytes, none of them control characters",
                    shorten(text).escape_debug()
                )));
            }
            Ok(match preflight {
                session::Preflight::Writable(folder) => Preflight::Writable(folder),
                session::Preflight::Program(name) => Preflight::Program(name),
            })
        });
        Ok(Opening {
            preflights: preflights.collect::<Result<_, _>>()?,
            notices: opening
                .notices
                .iter()
                .map(|notice| shorten(notice))
                .collect(),
        })
    }
}
