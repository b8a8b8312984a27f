//! The question to a person that an *ask* raises.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, ToolCall};

/// A question to a person, before it is known who is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The id under which it is answered.
    pub id: ApprovalId,
    /// The call that waits.
    pub call: Arc<ToolCall>,
    /// The rules that matched, over all guards.
    pub rules: Vec<String>,
    /// Why it is asked, one reason a line.
    pub reason: String,
    /// Whether somebody who could answer is attached.
    pub attended: bool,
}

/// Who is asked. There is no way to say that nobody needs to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whom {
    /// As the host does without a plugin: the root of the session's tree.
    DefaultPath,
    /// The session of the call itself.
    OwnSession,
    /// The root of the session's tree.
    RootSession,
    /// Nobody: the call is denied, for this reason.
    Nobody(String),
}
