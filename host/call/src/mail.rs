//! Mail between sessions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Session;

/// A message from one session to another, before it is delivered.
#[derive(Debug, Clone)]
pub struct Mail {
    /// Who sends it.
    pub sender: Arc<Session>,
    /// Who it is for.
    pub recipient: Arc<Session>,
    /// The text.
    pub text: Arc<str>,
    /// Whether the recipient is in the middle of a turn.
    pub recipient_is_busy: bool,
}

/// How a message is delivered. The later beats the earlier over many plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// When the recipient is ready for it.
    Deliver,
    /// At once: the recipient's turn is interrupted first.
    InterruptFirst,
}
