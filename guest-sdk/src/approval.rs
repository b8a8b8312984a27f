//! The hook `approval`, which decides who is asked.

use crate::{Question, plugin::hook};

hook! { "approval":
    /// A plugin that decides who is asked. No answer allows anything: only a person does.
    pub trait Approval: Sized + 'static {
        /// Returns who is asked.
        ///
        /// The first answer over all plugins that is not `DefaultPath` counts.
        fn route(&self, question: &Question) -> Whom;
    }
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
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
