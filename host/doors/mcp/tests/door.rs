//! The door from outside: bytes in, bytes out, with the real dispatcher and native tools.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{path::Path, sync::Arc, time::Duration};

use axum::body::Body;
use damper_dispatch::{Components, Dispatcher, Fallback, Machinery, prepare};
use damper_door_mcp::{Caller, DoorError, HttpSettings, router, serve_stream};
use damper_journal::{Journal, Record};
use damper_profile::{Source, compose};
use damper_wasm::{Ceilings, CompilerCommand, Runtime, RuntimeSettings};
use http::{HeaderMap, Request, StatusCode, header};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// A dispatcher whose only row has native tools. No component is ever compiled.
struct Host {
    dispatcher: Dispatcher,
    runtime: Arc<Runtime>,
    folder: tempfile::TempDir,
}

impl Host {
    async fn with_tools(tools: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::start(RuntimeSettings {
            cache: folder.path().join("cache"),
            host_key: [7; 32],
            compiler: CompilerCommand {
                program: "/nonexistent".into(),
                arguments: Vec::new(),
            },
            ceilings: Ceilings::default(),
            hidden: Vec::new(),
        });
        let runtime = Arc::new(runtime.unwrap());
        let journal = Journal::in_memory().unwrap();
        let machinery = Machinery::new(runtime.clone(), journal, Vec::new(), None);
        let dispatcher = Dispatcher::new(machinery);
        let host = Self {
            dispatcher,
            runtime,
            folder,
        };
        host.install(tools).await;
        host
    }

    async fn install(&self, tools: &str) {
        let text = format!("name: test\nrows:\n  - id: native\n    tools: {tools}\n");
        let source = Source::at(Path::new("/test.yaml"), text.as_bytes());
        let composition = compose(&source, &[]).unwrap();
        let previous = self.dispatcher.current();
        let components = Components::default();
        let fallback = Fallback::default();
        let prepared = prepare(
            &self.runtime,
            &previous,
            &composition,
            &components,
            &fallback,
        )
        .await;
        self.dispatcher.install(prepared.generation);
    }

    fn caller(&self) -> Caller {
        Caller {
            cwd: self.folder.path().to_owned(),
            roots: Vec::new(),
            agent: None,
            mode: None,
        }
    }

    /// Serves a client, as the process does that is connected to.
    async fn serve(
        dispatcher: Dispatcher,
        far: tokio::io::DuplexStream,
        caller: Caller,
        stop: CancellationToken,
    ) -> Result<(), DoorError> {
        let client = damper_door_mcp::Client::new(dispatcher, caller).await;
        serve_stream(client.unwrap(), far, stop).await
    }

    fn connect(&self) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(Self::serve(
            self.dispatcher.clone(),
            far,
            self.caller(),
            CancellationToken::new(),
        ));
        let (read, write) = tokio::io::split(near);
        Client {
            lines: BufReader::new(read).lines(),
            write,
            modern: false,
        }
    }

    fn router(&self) -> axum::Router {
        router(
            self.dispatcher.clone(),
            HttpSettings {
                token: "the-token".to_owned(),
                address: "127.0.0.1:7707".parse().unwrap(),
                hosts: Vec::new(),
                cwd: self.folder.path().to_owned(),
                stop: CancellationToken::new(),
            },
        )
    }

    /// Returns the sessions that were opened, in order.
    async fn opened(&self) -> Vec<String> {
        let records = self.dispatcher.journal().records(0, 1_000).await.unwrap();
        let is_opening = |record: &&Record| record.event.kind() == "session/opened";
        records
            .iter()
            .filter(is_opening)
            .map(|record| record.session.to_string())
            .collect()
    }
}

/// A client that writes its own JSON.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    modern: bool,
}

impl Client {
    async fn send(&mut self, mut message: Value) {
        if self.modern {
            let meta = &mut message["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        message["jsonrpc"] = "2.0".into();
        let line = format!("{message}\n");
        self.write.write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.send(message).await;
        self.receive().await
    }

    async fn shake_hands(&mut self, version: &str) -> Value {
        let answer = self.ask(initialize(version)).await;
        self.send(json!({"method": "notifications/initialized"}))
            .await;
        answer
    }

    async fn tool_names(&mut self) -> Vec<String> {
        let answer = self
            .ask(json!({"id": "list", "method": "tools/list"}))
            .await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }
}

fn initialize(version: &str) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        }
    })
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({
        "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
    })
}

/// Returns arguments for bash that say `started` and then wait for somebody to write to `fifo`.
fn waiting_for(fifo: &Path) -> Value {
    let made = std::process::Command::new("mkfifo").arg(fifo).status();
    assert!(made.unwrap().success());
    json!({"command": format!("echo started; read line < {}; echo done", fifo.display())})
}

#[tokio::test]
async fn speaks_every_revision_on_a_stream() {
    let host = Host::with_tools("[bash, read]").await;
    for version in LEGACY {
        let mut client = host.connect();
        let hello = client.shake_hands(version).await;
        assert_eq!(hello["result"]["protocolVersion"], version);
        assert_eq!(hello["result"]["serverInfo"]["name"], "damper");
        assert_eq!(client.tool_names().await, ["bash", "read"], "{version}");
    }
    let mut client = host.connect();
    client.modern = true;
    let hello = client
        .ask(json!({"id": 1, "method": "server/discover"}))
        .await;
    let versions = hello["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&MODERN.into()), "{hello}");
    let list = client.ask(json!({"id": 2, "method": "tools/list"})).await;
    assert_eq!(list["result"]["ttlMs"], 0);
    assert_eq!(list["result"]["cacheScope"], "private");
    assert_eq!(client.tool_names().await, ["bash", "read"]);
}

#[tokio::test]
async fn says_what_tools_do() {
    let host = Host::with_tools("[bash, read]").await;
    let mut client = host.connect();
    client.shake_hands("2025-11-25").await;
    let list = client.ask(json!({"id": 2, "method": "tools/list"})).await;
    let bash = &list["result"]["tools"][0];
    let read = &list["result"]["tools"][1];
    assert_eq!(bash["annotations"]["readOnlyHint"], false);
    assert_eq!(bash["annotations"]["destructiveHint"], true);
    assert_eq!(read["annotations"]["readOnlyHint"], true);
    assert_eq!(read["inputSchema"]["type"], "object");
}

#[tokio::test]
async fn what_goes_wrong_with_a_call_is_a_result_and_names_the_call() {
    let host = Host::with_tools("[read]").await;
    let mut client = host.connect();
    client.shake_hands("2025-11-25").await;
    for (tool, arguments, text) in [
        ("nonesuch", json!({}), "nonesuch"),
        ("read", json!({"nonesuch": 1}), "nonesuch"),
        ("read", json!({"file_path": "missing"}), "missing"),
    ] {
        let answer = client.ask(call(1, tool, &arguments)).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        let told = result["content"][0]["text"].as_str().unwrap();
        assert!(told.contains(text), "{told}");
        assert!(result["_meta"]["damper/call"].is_string(), "{answer}");
    }
}

#[tokio::test]
async fn a_list_that_changed_is_announced_and_one_that_did_not_is_not() {
    let host = Host::with_tools("[read]").await;
    let mut legacy = host.connect();
    legacy.shake_hands("2025-06-18").await;
    let mut modern = host.connect();
    modern.modern = true;
    let listening = modern
        .ask(json!({
            "id": "sub", "method": "subscriptions/listen",
            "params": {"notifications": {"toolsListChanged": true}}
        }))
        .await;
    assert_eq!(
        listening["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(legacy.tool_names().await, ["read"]);

    host.install("[read]").await;
    host.install("[grep, read]").await;
    for client in [&mut legacy, &mut modern] {
        let told = client.receive().await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(client.tool_names().await, ["grep", "read"]);
    }
}

#[tokio::test]
async fn progress_comes_while_the_call_runs() {
    let host = Host::with_tools("[bash]").await;
    for modern in [false, true] {
        let fifo = host.folder.path().join(format!("fifo-{modern}"));
        let arguments = waiting_for(&fifo);
        let mut client = host.connect();
        client.modern = modern;
        if !modern {
            client.shake_hands("2025-11-25").await;
        }
        client.send(call(9, "bash", &arguments)).await;
        let told = client.receive().await;
        assert_eq!(told["method"], "notifications/progress", "{told}");
        assert_eq!(told["params"]["progressToken"], "p");
        assert_eq!(told["params"]["message"], "started");
        // This is what lets the command go on.
        tokio::fs::write(&fifo, "go\n").await.unwrap();
        let answer = loop {
            let message = client.receive().await;
            if message["id"] == 9 {
                break message;
            }
        };
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("done"), "{text}");
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_and_is_not_answered() {
    let host = Host::with_tools("[bash, read]").await;
    let arguments = waiting_for(&host.folder.path().join("fifo"));
    let mut client = host.connect();
    client.shake_hands("2025-11-25").await;
    client.send(call(9, "bash", &arguments)).await;
    assert_eq!(client.receive().await["params"]["message"], "started");
    client
        .send(json!({"method": "notifications/cancelled", "params": {"requestId": 9}}))
        .await;
    host.dispatcher.drained().await;
    let next = client.ask(call(10, "read", &json!({}))).await;
    assert_eq!(next["id"], 10, "{next}");
}

#[tokio::test]
async fn a_host_that_stops_ends_its_streams() {
    let host = Host::with_tools("[read]").await;
    let (near, far) = tokio::io::duplex(1024);
    let stop = CancellationToken::new();
    let serving = tokio::spawn(Host::serve(
        host.dispatcher.clone(),
        far,
        host.caller(),
        stop.clone(),
    ));
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(30), serving)
        .await
        .expect("ends at once")
        .unwrap()
        .unwrap();
    drop(near);
}

const AUTHORIZED: (&str, &str) = ("authorization", "Bearer the-token");
const OUR_HOST: (&str, &str) = ("host", "localhost:7707");

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

async fn post(
    router: &axum::Router,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Reply {
    let mut request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body.into()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    Reply {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

#[tokio::test]
async fn only_our_own_clients_get_in_over_http() {
    let host = Host::with_tools("[read]").await;
    let router = host.router();
    let wrong = ("authorization", "Bearer the-tokem");
    let basic = ("authorization", "Basic the-token");
    let evil_host = ("host", "evil.example:7707");
    let other_port = ("host", "localhost:80");
    let evil_origin = ("origin", "http://evil.example");
    let own_origin = ("origin", "http://127.0.0.1:7707");
    for (headers, expected) in [
        (vec![OUR_HOST], 401),
        (vec![OUR_HOST, wrong], 401),
        (vec![OUR_HOST, basic], 401),
        (vec![evil_host, AUTHORIZED], 403),
        (vec![other_port, AUTHORIZED], 403),
        (vec![OUR_HOST, AUTHORIZED, evil_origin], 403),
        (vec![OUR_HOST, AUTHORIZED, ("origin", "null")], 403),
        (vec![OUR_HOST, AUTHORIZED, own_origin], 200),
        (vec![OUR_HOST, AUTHORIZED], 200),
    ] {
        for path in ["/mcp", "/mcp/alice"] {
            let hello = initialize("2025-11-25").to_string();
            let reply = post(&router, path, &headers, hello).await;
            assert_eq!(reply.status, expected, "{path} {headers:?} {}", reply.text);
            let challenged = reply.headers.contains_key(header::WWW_AUTHENTICATE);
            assert_eq!(challenged, expected == 401);
        }
    }
}

#[tokio::test]
async fn refuses_what_it_cannot_take_over_http_and_says_why() {
    let host = Host::with_tools("[read]").await;
    let router = host.router();
    let headers = [OUR_HOST, AUTHORIZED];
    let reply = post(&router, "/mcp", &headers, vec![b'a'; 4 * 1024 * 1024 + 1]).await;
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(reply.text.contains("4194304 bytes"), "{}", reply.text);
    let long = format!("/mcp/{}", "x".repeat(65));
    for path in ["/mcp/a%2Fb", "/mcp/%20", &long] {
        let hello = initialize("2025-11-25").to_string();
        let reply = post(&router, path, &headers, hello).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        assert!(reply.text.contains("`/mcp/NAME`"), "{}", reply.text);
    }
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let reply = post(&router, "/mcp", &headers, list.to_string()).await;
    assert_eq!(
        reply.status,
        StatusCode::BAD_REQUEST,
        "no handshake, no session"
    );
}

async fn list_after_handshake(router: &axum::Router, path: &str) {
    let hello = initialize("2025-11-25").to_string();
    let reply = post(router, path, &[OUR_HOST, AUTHORIZED], hello).await;
    let id = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let headers = [OUR_HOST, AUTHORIZED, ("mcp-session-id", id.as_str())];
    let reply = post(router, path, &headers, list.to_string()).await;
    assert!(reply.text.contains(r#""name":"read""#), "{}", reply.text);
}

async fn list_alone(router: &axum::Router, path: &str) {
    let list = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {}
        }}
    });
    let version = ("mcp-protocol-version", MODERN);
    let method = ("mcp-method", "tools/list");
    let headers = [OUR_HOST, AUTHORIZED, version, method];
    let reply = post(router, path, &headers, list.to_string()).await;
    assert!(reply.text.contains(r#""name":"read""#), "{}", reply.text);
}

#[tokio::test]
async fn sessions_over_http_are_handshakes_names_or_the_shared_one() {
    let host = Host::with_tools("[read]").await;
    let router = host.router();
    list_after_handshake(&router, "/mcp").await;
    list_after_handshake(&router, "/mcp").await;
    list_alone(&router, "/mcp").await;
    list_alone(&router, "/mcp").await;
    list_after_handshake(&router, "/mcp/alice").await;
    list_alone(&router, "/mcp/alice").await;
    list_alone(&router, "/mcp/bob").await;
    let opened = host.opened().await;
    assert_eq!(opened.len(), 5, "{opened:?}");
    assert_ne!(opened[0], opened[1]);
    assert_eq!(opened[2..], ["http", "http:alice", "http:bob"]);
}
