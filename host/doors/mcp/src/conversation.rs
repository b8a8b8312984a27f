//! The session behind a connection, opened when an agent first asks for something.

use std::{path::PathBuf, sync::Arc};

use damper_call::{Door, Session, SessionId, ToolDefinition};
use damper_dispatch::{Dispatcher, OpenError};
use rmcp::model::Implementation;
use tokio::sync::OnceCell;

/// The longest name of an agent that is kept: it is shown in tables and prompts.
const MAX_AGENT_CHARS: usize = 80;

/// Who is known to be calling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The one that says so in the protocol.
    AsItSays,
    /// The one that whoever made the connection named.
    Named(String),
    /// Several clients share the session, so no single name would be true.
    Several,
}

/// One conversation: a session that becomes real with its first list or call.
pub(crate) struct Conversation {
    agent: Agent,
    /// The session as it will be opened, but for the agent's name.
    draft: Session,
    opened: OnceCell<Arc<Session>>,
}

impl Conversation {
    pub(crate) fn new(id: SessionId, agent: Agent, cwd: PathBuf, roots: Vec<PathBuf>) -> Self {
        let mut draft = Session::external(id, Door::Mcp, None, cwd);
        if !roots.is_empty() {
            draft.roots = roots;
        }
        Self {
            agent,
            draft,
            opened: OnceCell::new(),
        }
    }

    /// Returns the session, opening it when this is the first request for it.
    pub(crate) async fn session(
        &self,
        dispatcher: &Dispatcher,
        client: Option<Implementation>,
    ) -> Result<Arc<Session>, OpenError> {
        let open = || dispatcher.open_session(self.draft_for(client));
        self.opened.get_or_try_init(open).await.cloned()
    }

    /// Returns the tools that exist for the session, be it opened or not.
    pub(crate) fn tools(&self, dispatcher: &Dispatcher) -> Vec<Arc<ToolDefinition>> {
        let session = self.opened.get().map_or(&self.draft, |opened| &**opened);
        dispatcher.tools(session)
    }

    fn draft_for(&self, client: Option<Implementation>) -> Session {
        let agent = match &self.agent {
            Agent::AsItSays => client.map(|client| spoken_name(&client)),
            Agent::Named(name) => Some(name.clone()),
            Agent::Several => None,
        };
        Session {
            agent,
            ..self.draft.clone()
        }
    }
}

/// Returns what a client calls itself, made fit for one line.
fn spoken_name(client: &Implementation) -> String {
    format!("{} {}", client.name, client.version)
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_AGENT_CHARS)
        .collect()
}
