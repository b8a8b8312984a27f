//! The hook `catalogue`, which withholds tools.

use crate::{EffectClass, Session, ToolSource, plugin::hook};

hook! { "catalogue":
    /// A plugin that withholds tools from sessions.
    pub trait Catalogue: Sized + 'static {
        /// Returns the names of the tools to withhold from a session.
        ///
        /// `tools` is the whole set, before anything is withheld.
        fn withhold(&self, session: &Session, tools: &[ListedTool]) -> Vec<String>;
    }
}

/// A tool that a session could have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTool {
    /// The tool's name.
    pub name: String,
    /// Where it comes from.
    pub source: ToolSource,
    /// What running it may do.
    pub effect: EffectClass,
}

impl ListedTool {
    /// Returns a tool of the host that must not be run twice.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            source: ToolSource::Native,
            effect: EffectClass::Once,
        }
    }
}
