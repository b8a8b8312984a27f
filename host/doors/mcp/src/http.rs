//! MCP over streamable HTTP, behind a bearer token.
//!
//! `/mcp` is for clients that need no name: each handshake opens a session, and
//! requests that stand alone share one. `/mcp/NAME` is one session, whoever calls.

use std::{collections::HashMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Path, Query, Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::any,
};
use damper_call::SessionId;
use damper_dispatch::Dispatcher;
use futures::StreamExt;
use http::{
    HeaderMap, Method, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};
use rmcp::{
    model::ProtocolVersion,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::{
    conversation::{Agent, Conversation},
    presence::Presences,
    server::McpServer,
};

/// The largest request. Arguments have a limit of their own, well below; this one
/// bounds what an unread request may cost.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The most handshakes, and the most names, that may be alive at once. A client that
/// never says goodbye costs one for a day.
const MAX_SESSIONS: usize = 1_000;

/// How long a session of a handshake may be silent. A call held for an approval is
/// silent too, and overnight is ordinary.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest NAME in `/mcp/NAME`.
const MAX_NAME_BYTES: usize = 64;

/// The id of the session that requests without a name share.
const SHARED: &str = "http";

/// The header that names the protocol's revision.
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The header that names a handshake's session.
const SESSION_ID: &str = "mcp-session-id";

/// How the door is served over HTTP.
pub struct HttpSettings {
    /// The bearer token that every request must carry.
    pub token: String,
    /// The address the server is bound to; it decides which `Host` and `Origin` are ours.
    pub address: SocketAddr,
    /// Further host names, each with its port, under which clients reach the server.
    pub hosts: Vec<String>,
    /// Where the sessions' commands run, absolute.
    pub cwd: PathBuf,
    /// Cancelled when the host stops: open streams then end.
    pub stop: CancellationToken,
}

/// Returns the routes `/mcp` and `/mcp/{name}`.
pub fn router(dispatcher: Dispatcher, settings: HttpSettings) -> Router {
    let door = Arc::new(HttpDoor::new(dispatcher, settings));
    Router::new()
        .route("/mcp", any(serve_unnamed))
        .route("/mcp/{name}", any(serve_named))
        .route_layer(from_fn_with_state(door.clone(), require_token))
        .with_state(door)
}

struct HttpDoor {
    dispatcher: Dispatcher,
    /// The token's hash: comparing hashes takes the same time wherever they differ.
    token: blake3::Hash,
    cwd: PathBuf,
    config: StreamableHttpServerConfig,
    /// The sessions of handshakes, by the id the protocol gave them.
    handshakes: Arc<LocalSessionManager>,
    /// Who of them is still there.
    presences: Presences,
    /// The conversations that outlive a request: those with a name, and the shared one.
    named: Mutex<HashMap<String, Arc<Conversation>>>,
}

impl HttpDoor {
    fn new(dispatcher: Dispatcher, settings: HttpSettings) -> Self {
        let hosts = own_hosts(settings.address, settings.hosts);
        let origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            .with_allowed_origins(origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MAX_BODY_BYTES)
            .with_cancellation_token(settings.stop);
        let mut handshakes = LocalSessionManager::default();
        handshakes.session_config.keep_alive = Some(IDLE);
        Self {
            dispatcher,
            token: blake3::hash(settings.token.as_bytes()),
            cwd: settings.cwd,
            config,
            handshakes: Arc::new(handshakes),
            presences: Presences::default(),
            named: Mutex::new(HashMap::new()),
        }
    }

    /// Returns the conversation that lives under `name`, or nothing when there are too many.
    async fn conversation(
        &self,
        name: &str,
        id: SessionId,
        agent: Agent,
        mode: Option<String>,
    ) -> Result<Arc<Conversation>, Response> {
        let mut named = self.named.lock().await;
        if let Some(known) = named.get(name) {
            // Naming no mode means whichever it has.
            return match mode.as_deref() {
                Some(mode) if known.mode() != Some(mode) => Err(other_mode(name, known)),
                Some(_) | None => Ok(known.clone()),
            };
        }
        if named.len() >= MAX_SESSIONS {
            return Err(too_many_sessions());
        }
        let new = Arc::new(self.new_conversation(id, agent, mode));
        new.open_in_mode(&self.dispatcher)
            .await
            .map_err(|error| refuse(StatusCode::CONFLICT, format!("{error}\n")))?;
        named.insert(name.to_owned(), new.clone());
        Ok(new)
    }

    fn new_conversation(&self, id: SessionId, agent: Agent, mode: Option<String>) -> Conversation {
        Conversation::new(id, agent, mode, self.cwd.clone(), Vec::new())
    }

    async fn serve(&self, conversation: Arc<Conversation>, mut request: Request) -> Response {
        let Some(id) = handshake_session(request.headers()) else {
            if !stands_alone(request.headers()) && self.is_full().await {
                return too_many_sessions();
            }
            return self.answer(conversation, request).await;
        };
        let presence = self.presences.of(id).await;
        let connection = presence.connect();
        request.extensions_mut().insert(presence);
        let response = self.answer(conversation, request).await;
        response.map(|body| {
            Body::from_stream(body.into_data_stream().inspect(move |_| {
                // Held until the last byte is sent or the client has hung up.
                let _ = &connection;
            }))
        })
    }

    async fn answer(&self, conversation: Arc<Conversation>, request: Request) -> Response {
        let dispatcher = self.dispatcher.clone();
        let service = StreamableHttpService::new(
            move || Ok(McpServer::new(dispatcher.clone(), conversation.clone())),
            self.handshakes.clone(),
            self.config.clone(),
        );
        let is_farewell = request.method() == Method::DELETE;
        let response = service.handle(request).await;
        match response.status() {
            StatusCode::PAYLOAD_TOO_LARGE => body_too_large(),
            // The session is gone when this is said, and the Python client calls a mere
            // "accepted" a failure.
            StatusCode::ACCEPTED if is_farewell => StatusCode::NO_CONTENT.into_response(),
            _ => response.map(Body::new),
        }
    }

    async fn is_full(&self) -> bool {
        self.handshakes.sessions.read().await.len() >= MAX_SESSIONS
    }
}

/// The query of `/mcp/NAME`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    /// The mode of the session that NAME opens.
    mode: Option<String>,
}

async fn serve_unnamed(
    State(door): State<Arc<HttpDoor>>,
    Query(chosen): Query<Chosen>,
    request: Request,
) -> Response {
    if chosen.mode.is_some() {
        let text = "a session with a mode needs a name: use `/mcp/NAME?mode=MODE`\n";
        return refuse(StatusCode::BAD_REQUEST, text.to_owned());
    }
    let conversation = if stands_alone(request.headers()) {
        let Ok(id) = SHARED.parse() else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        match door.conversation("", id, Agent::Several, None).await {
            Ok(shared) => shared,
            Err(refusal) => return refusal,
        }
    } else {
        // Only a handshake keeps it; a request of a running session brings its own.
        Arc::new(door.new_conversation(SessionId::unique(), Agent::AsItSays, None))
    };
    door.serve(conversation, request).await
}

async fn serve_named(
    State(door): State<Arc<HttpDoor>>,
    Path(name): Path<String>,
    Query(chosen): Query<Chosen>,
    request: Request,
) -> Response {
    let Some(id) = session_id(&name) else {
        return refuse(
            StatusCode::NOT_FOUND,
            format!(
                "`/mcp/NAME` takes a name of 1 to {MAX_NAME_BYTES} letters, digits and `-_.`\n"
            ),
        );
    };
    let conversation = door.conversation(&name, id, Agent::AsItSays, chosen.mode);
    match conversation.await {
        Ok(conversation) => door.serve(conversation, request).await,
        Err(refusal) => refusal,
    }
}

/// Lets a request pass that carries the token.
async fn require_token(
    State(door): State<Arc<HttpDoor>>,
    request: Request,
    next: Next,
) -> Response {
    let challenge = match bearer(request.headers()) {
        Some(token) if blake3::hash(token.as_bytes()) == door.token => {
            return next.run(request).await;
        }
        Some(_) => r#"Bearer realm="damper", error="invalid_token""#,
        None => r#"Bearer realm="damper""#,
    };
    let text = "this needs the header `Authorization: Bearer TOKEN`; \
        `damper status` names the file that holds the token\n";
    (
        StatusCode::UNAUTHORIZED,
        [(WWW_AUTHENTICATE, challenge)],
        text,
    )
        .into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns whether a request is of the era without handshakes.
fn stands_alone(headers: &HeaderMap) -> bool {
    headers
        .get(PROTOCOL_VERSION)
        .and_then(|version| version.to_str().ok())
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns the id of the handshake's session that a request belongs to.
fn handshake_session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION_ID)?.to_str().ok()
}

/// Returns the id of the session behind `/mcp/NAME`, apart from those of other doors.
fn session_id(name: &str) -> Option<SessionId> {
    let is_plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !is_plain {
        return None;
    }
    format!("{SHARED}:{name}").parse().ok()
}

/// Returns the `host:port` pairs that mean this server.
fn own_hosts(address: SocketAddr, further: Vec<String>) -> Vec<String> {
    let port = address.port();
    let mut hosts = vec![address.to_string()];
    if address.ip().is_loopback() || address.ip().is_unspecified() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
    }
    hosts.extend(further);
    hosts
}

fn too_many_sessions() -> Response {
    refuse(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "the host serves {MAX_SESSIONS} MCP sessions over HTTP already, which is its limit; \
             end some with DELETE, or restart the host\n"
        ),
    )
}

fn other_mode(name: &str, known: &Conversation) -> Response {
    let has = known
        .mode()
        .map_or_else(|| "no mode".to_owned(), |mode| format!("the mode `{mode}`"));
    refuse(
        StatusCode::CONFLICT,
        format!("the session `{name}` has {has} for its whole life; choose another name\n"),
    )
}

fn body_too_large() -> Response {
    refuse(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!(
            "a request may have {MAX_BODY_BYTES} bytes at most; this limit is fixed, so pass \
             large input as a file\n"
        ),
    )
}

fn refuse(status: StatusCode, text: String) -> Response {
    (status, text).into_response()
}
