//! The message a plugin is asked about.

use crate::{Session, resource::resource};

resource! {
    /// A message from one session to another, before it is delivered.
    Mail, made from MailFacts {
        /// The session that sends it.
        sender: Session<'static>,
        /// The session that it is for.
        recipient: Session<'static>,
        /// The text, at most 1 MiB.
        text: String,
        /// Whether the recipient is in the middle of a turn.
        recipient_is_busy: bool,
    }
}

/// Mail for native tests.
#[cfg(not(target_arch = "wasm32"))]
impl Mail<'static> {
    /// Returns a message from the session `session-1` to its idle worker.
    pub fn new(text: &str) -> Self {
        MailFacts {
            text: text.to_owned(),
            ..MailFacts::default()
        }
        .into()
    }

    /// Makes it a message between these sessions.
    #[must_use]
    pub fn between(self, sender: Session<'static>, recipient: Session<'static>) -> Self {
        self.with(|facts| {
            facts.sender = sender;
            facts.recipient = recipient;
        })
    }

    /// Puts the recipient in the middle of a turn.
    #[must_use]
    pub fn while_busy(self) -> Self {
        self.with(|facts| facts.recipient_is_busy = true)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for MailFacts {
    fn default() -> Self {
        Self {
            sender: Session::new(),
            recipient: Session::new().worker("subagent"),
            text: String::new(),
            recipient_is_busy: false,
        }
    }
}
