//! MCP over a byte stream: one session for each stream.

use std::{path::PathBuf, sync::Arc};

use damper_call::SessionId;
use damper_dispatch::{Dispatcher, OpenError};
use rmcp::{
    ServiceExt,
    service::{QuitReason, ServerInitializeError},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{
    conversation::{Agent, Conversation},
    server::McpServer,
};

/// What is known about the process at the other end of a stream.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The folder it runs in, absolute.
    pub cwd: PathBuf,
    /// The folders its session works in, absolute; none means its `cwd`.
    pub roots: Vec<PathBuf>,
    /// The agent's name, when whoever made the connection gave one. It goes before
    /// what the agent says about itself.
    pub agent: Option<String>,
    /// The mode that its session is bound to.
    pub mode: Option<String>,
}

/// A client that is about to be served, with its session open if that has a mode.
pub struct Client {
    dispatcher: Dispatcher,
    conversation: Conversation,
}

impl Client {
    /// Prepares to serve a client. Fails if its mode does not compose the session.
    pub async fn new(dispatcher: Dispatcher, caller: Caller) -> Result<Self, OpenError> {
        let agent = caller.agent.map_or(Agent::AsItSays, Agent::Named);
        let conversation = Conversation::new(
            SessionId::unique(),
            agent,
            caller.mode,
            caller.cwd,
            caller.roots,
        );
        conversation.open_in_mode(&dispatcher).await?;
        Ok(Self {
            dispatcher,
            conversation,
        })
    }
}

/// Why a stream was given up.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The first message was neither a handshake nor a request that stands alone.
    #[error("the client does not speak MCP: {0}")]
    NotMcp(#[source] Box<ServerInitializeError>),
    /// The task that served the stream ended abnormally.
    #[error("serving an MCP stream failed: {0}")]
    Failed(#[source] tokio::task::JoinError),
}

/// Serves one client on `stream` until it leaves or `stop` is cancelled.
///
/// After the client's last byte, calls still running have five seconds to be answered,
/// so that a client may send its requests and close; then they are cancelled.
///
/// # Errors
///
/// Fails when the client does not speak MCP. A client that leaves is no error.
pub async fn serve_stream<S>(
    client: Client,
    stream: S,
    stop: CancellationToken,
) -> Result<(), DoorError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let server = McpServer::new(client.dispatcher, Arc::new(client.conversation));
    // A child, because the service cancels its token when the client leaves.
    let running = match server.serve_with_ct(stream, stop.child_token()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(DoorError::NotMcp(Box::new(error))),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(DoorError::Failed(error)),
        Ok(_) => Ok(()),
    }
}
