//! The hook `message`, which decides how mail between sessions is delivered.

use crate::{Mail, plugin::hook};

hook! { "message":
    /// A plugin that decides how mail between sessions is delivered.
    pub trait Message: Sized + 'static {
        /// Returns how a message is delivered.
        fn before_send(&self, mail: &Mail) -> Delivery;
    }
}

/// How a message is delivered. Over all plugins `InterruptFirst` wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// When the recipient is ready for it.
    Deliver,
    /// At once: the recipient's turn is interrupted first.
    InterruptFirst,
}
