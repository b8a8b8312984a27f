//! Requests of MCP, answered by the dispatcher.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, OnceLock},
};

use damper_call::Outcome;
use damper_dispatch::{CallRequest, Dispatcher, OpenError};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, Extensions, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
    },
    service::{NotificationContext, Peer, RequestContext, SubscriptionContext},
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    conversation::Conversation,
    presence::Presence,
    progress::{ProgressSink, QUEUED_LINES, report_while},
    tools::{ToolList, wire_result, wire_tool},
};

/// What every client is told once, for the model that reads it.
const INSTRUCTIONS: &str = "Calls pass guards: one may be refused, or held until a person has \
    approved it. A refusal says why and ends with the call's id; do not retry it unchanged.";

/// How long clients may keep a tool list without asking again: not at all, since an
/// edit of the profile reaches the very next call.
const LIST_TTL_MS: u64 = 0;

/// The MCP server of one conversation.
pub(crate) struct McpServer {
    dispatcher: Dispatcher,
    conversation: Arc<Conversation>,
    /// Cancelled when the connection that was opened by a handshake is over.
    connection: OnceLock<CancellationToken>,
}

impl McpServer {
    pub(crate) fn new(dispatcher: Dispatcher, conversation: Arc<Conversation>) -> Self {
        Self {
            dispatcher,
            conversation,
            connection: OnceLock::new(),
        }
    }

    fn tool_list(&self) -> impl Future<Output = ToolList> + use<> {
        ToolList::new(self.dispatcher.clone(), self.conversation.clone())
    }

    /// Runs a call, and takes it back when its client is gone.
    async fn run(&self, call: CallRequest, presence: Option<Arc<Presence>>) -> Outcome {
        let cancel = call.cancel.clone();
        let mut calling = pin!(self.dispatcher.call(call));
        if let Some(presence) = presence {
            tokio::select! {
                outcome = &mut calling => return outcome,
                () = presence.gone() => cancel.cancel(),
            }
        }
        calling.await
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let instructions = match self.conversation.prompt() {
            Some(prompt) => format!("{prompt}\n\n{INSTRUCTIONS}"),
            None => INSTRUCTIONS.to_owned(),
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("damper", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        // The token of this one request is the connection's: it outlives the answer.
        self.connection.get_or_init(|| context.ct.clone());
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let Some(connection) = self.connection.get().cloned() else {
            return;
        };
        let list = self.tool_list().await;
        tokio::spawn(connection.run_until_cancelled_owned(announce(list, context.peer)));
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let client = context.client_info();
        let session = self
            .conversation
            .session(&self.dispatcher, client)
            .await
            .map_err(|error| not_opened(&error))?;
        let tools = self.dispatcher.tools(&session).await;
        let tools = tools.iter().map(|tool| wire_tool(tool)).collect();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.client_info();
        let session = self
            .conversation
            .session(&self.dispatcher, client)
            .await
            .map_err(|error| not_opened(&error))?;
        let arguments = match request.arguments {
            Some(arguments) => serde_json::to_string(&arguments)
                .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?,
            None => "{}".to_owned(),
        };
        let call = CallRequest {
            id: None,
            session,
            tool: request.name.into_owned(),
            arguments,
            cancel: context.ct,
            progress: None,
        };
        let presence = presence(&context.extensions);
        let outcome = match context.meta.get_progress_token() {
            None => self.run(call, presence).await,
            Some(token) => {
                let (progress, lines) = mpsc::channel(QUEUED_LINES);
                let call = CallRequest {
                    progress: Some(progress),
                    ..call
                };
                let sink = ProgressSink {
                    peer: context.peer,
                    token,
                };
                report_while(self.run(call, presence), lines, sink).await
            }
        };
        Ok(wire_result(outcome).into())
    }

    /// Returns the tool whose schema says which arguments are mirrored in HTTP headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = self.conversation.tool(&self.dispatcher, name)?;
        Some(wire_tool(&tool))
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    fn listen(
        &self,
        context: SubscriptionContext,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        let list = self.tool_list();
        async move {
            let mut list = list.await;
            let announcing = async {
                while list.changed().await {
                    if let Err(error) = context.sink().notify_tool_list_changed().await {
                        tracing::debug!(%error, "a subscription takes no more changes");
                        return;
                    }
                }
            };
            tokio::select! {
                () = announcing => {}
                () = context.cancelled() => {}
            }
            Ok(())
        }
    }
}

/// Tells a client of the handshake era about each change of its tool list.
async fn announce(mut list: ToolList, peer: Peer<RoleServer>) {
    while list.changed().await {
        if let Err(error) = peer.notify_tool_list_changed().await {
            tracing::debug!(%error, "the client takes no more changes");
            return;
        }
    }
}

/// Returns the presence of the client that sent a request over HTTP.
fn presence(extensions: &Extensions) -> Option<Arc<Presence>> {
    let request = extensions.get::<http::request::Parts>()?;
    request.extensions.get::<Arc<Presence>>().cloned()
}

fn not_opened(error: &OpenError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
