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
    /// The session as it will be opened, but for the agent's name and what a mode makes of it.
    draft: Session,
    /// The mode it is bound to.
    mode: Option<String>,
    opened: OnceCell<Arc<Session>>,
}

impl Conversation {
    pub(crate) fn new(
        id: SessionId,
        agent: Agent,
        mode: Option<String>,
        cwd: PathBuf,
        roots: Vec<PathBuf>,
    ) -> Self {
        let mut draft = Session::external(id, Door::Mcp, None, cwd);
        if !roots.is_empty() {
            draft.roots = roots;
        }
        Self {
            agent,
            draft,
            mode,
            opened: OnceCell::new(),
        }
    }

    /// Returns the session, opening it when this is the first request for it.
    pub(crate) async fn session(
        &self,
        dispatcher: &Dispatcher,
        client: Option<Implementation>,
    ) -> Result<Arc<Session>, OpenError> {
        let open = || dispatcher.open_session(self.draft_for(client), self.mode.as_deref());
        self.opened.get_or_try_init(open).await.cloned()
    }

    /// Opens the session of a conversation that has a mode, since what the mode says must be
    /// known before the first request. Others become real when they are used.
    pub(crate) async fn open_in_mode(&self, dispatcher: &Dispatcher) -> Result<(), OpenError> {
        match self.mode {
            Some(_) => self.session(dispatcher, None).await.map(|_opened| ()),
            None => Ok(()),
        }
    }

    /// Returns the mode.
    pub(crate) fn mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// Returns what the model is told of the mode: the prompt and the notices.
    pub(crate) fn prompt(&self) -> Option<String> {
        let composed = self.opened.get()?.composed.as_ref()?;
        let sections = composed.prompt.iter().map(|section| section.text.as_str());
        let notices = composed.notices.iter().map(String::as_str);
        let texts: Vec<&str> = sections.chain(notices).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }

    /// Returns the tools that exist for the session, be it opened or not.
    pub(crate) async fn tools(&self, dispatcher: &Dispatcher) -> Vec<Arc<ToolDefinition>> {
        match self.opened.get() {
            Some(opened) => dispatcher.tools(opened).await,
            None => dispatcher.tools(&Arc::new(self.draft.clone())).await,
        }
    }

    /// Returns a tool that the session could have.
    pub(crate) fn tool(&self, dispatcher: &Dispatcher, name: &str) -> Option<Arc<ToolDefinition>> {
        let session = self.opened.get().map_or(&self.draft, |opened| &**opened);
        dispatcher.tool_on_surface(session, name)
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
