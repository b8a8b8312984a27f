//! MCP as bytes on `damper mcp`: what a client that nobody has heard of may send.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use damper_tests::Host;
use serde_json::{Value, json};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// How long an answer may take on a busy machine before its test has failed.
const SILENCE: Duration = Duration::from_secs(120);

/// `damper mcp`, and the messages on it.
struct Wire {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Wire {
    fn connect(host: &Host) -> Self {
        let mut child = host
            .command()
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        thread::spawn(move || {
            let lines = stdout.lines().map_while(Result::ok);
            lines.map_while(|line| said.send(line).ok()).count()
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
        }
    }

    /// Connects and shakes hands.
    fn greeted(host: &Host) -> Self {
        let mut wire = Self::connect(host);
        wire.shake_hands("2025-11-25");
        wire
    }

    fn type_line(&mut self, line: &str) {
        let mut stdin = self.stdin.as_ref().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.type_line(&message.to_string());
    }

    fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(SILENCE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    /// Waits for the answer to this request, past all progress.
    fn answer(&self, id: &Value) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == *id {
                return message;
            }
        }
    }

    fn ask(&mut self, message: Value) -> Value {
        let id = message["id"].clone();
        self.send(message);
        self.answer(&id)
    }

    fn shake_hands(&mut self, version: &str) -> Value {
        let answer = self.ask(json!({
            "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        }));
        self.send(json!({"method": "notifications/initialized"}));
        answer
    }

    fn echo(&mut self, text: &str) -> Value {
        self.ask(call(
            text,
            "bash",
            &json!({"command": format!("echo {text}")}),
        ))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // It may have ended already, and then cannot be killed.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

fn call(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({
        "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": id}},
    })
}

/// Returns a request of the era in which each stands alone.
fn modern(mut message: Value) -> Value {
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "1"});
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    message
}

fn said(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"))
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let host = Host::start();
    for version in LEGACY {
        let mut wire = Wire::connect(&host);
        let hello = wire.shake_hands(version);
        assert_eq!(hello["result"]["protocolVersion"], version);
        assert_eq!(
            hello["result"]["capabilities"]["tools"]["listChanged"],
            true
        );
        let pong = wire.ask(json!({"id": 1, "method": "ping"}));
        assert_eq!(pong["result"], json!({}), "{pong}");
        let list = wire.ask(json!({"id": 2, "method": "tools/list"}));
        assert_eq!(list["result"]["tools"][0]["name"], "bash", "{version}");
        assert!(said(&wire.echo("hello")).contains("hello"));
    }
    let mut wire = Wire::connect(&host);
    let hello = wire.shake_hands("1999-01-01");
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
}

#[test]
fn requests_stand_alone_in_the_revision_without_a_handshake() {
    let host = Host::start();
    let mut wire = Wire::connect(&host);
    let hello = wire.ask(modern(json!({"id": 1, "method": "server/discover"})));
    let versions = hello["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&MODERN.into()), "{hello}");
    let list = wire.ask(modern(json!({"id": 2, "method": "tools/list"})));
    assert_eq!(list["result"]["tools"][0]["name"], "bash", "{list}");

    // Nor does it have to begin with anything.
    let mut wire = Wire::connect(&host);
    let echo = json!({"command": "echo hello"});
    let answer = wire.ask(modern(call("a", "bash", &echo)));
    assert!(said(&answer).contains("hello"));
}

#[test]
fn an_unknown_method_is_refused_and_the_session_goes_on() {
    let host = Host::start();
    let mut legacy = Wire::greeted(&host);
    let nonesuch = json!({"id": 7, "method": "tools/nonesuch", "params": {}});
    let answer = legacy.ask(nonesuch.clone());
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    legacy.send(json!({"method": "notifications/nonesuch"}));
    assert!(said(&legacy.echo("on")).contains("on"));

    let mut wire = Wire::connect(&host);
    wire.ask(modern(json!({"id": 1, "method": "server/discover"})));
    let answer = wire.ask(modern(nonesuch));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    let echo = json!({"command": "echo on"});
    assert!(said(&wire.ask(modern(call("a", "bash", &echo)))).contains("on"));
}

#[test]
fn json_that_is_no_message_is_refused_and_the_session_goes_on() {
    let host = Host::start();
    let mut wire = Wire::greeted(&host);
    for line in [
        r#"{"jsonrpc": "2.0", "id": 4}"#,
        r#"{"jsonrpc": "2.0", "id": 5, "method": 6}"#,
        r#"{"id": 6, "method": "tools/list"}"#,
        "42",
        "[]",
    ] {
        wire.type_line(line);
        let answer = wire.receive();
        assert_eq!(answer["error"]["code"], -32600, "{line}: {answer}");
        assert!(said(&wire.echo("on")).contains("on"), "after {line}");
    }
}

/// Nobody can tell which request a broken line was, so it gets no answer, as in the official
/// libraries; what matters is that it breaks nothing else.
#[test]
fn lines_that_are_no_json_are_passed_over() {
    let host = Host::start();
    let mut wire = Wire::greeted(&host);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        r#"{"jsonrpc": "2.0", "id": 3, "method": "#,
        "rm -rf /",
        "",
        "\u{1}\u{0}",
        &deep,
    ] {
        wire.type_line(line);
        assert!(said(&wire.echo("on")).contains("on"));
    }
}

#[test]
fn arguments_that_are_too_large_are_refused_with_the_limit() {
    let host = Host::start();
    let mut wire = Wire::greeted(&host);
    let command = format!("echo {}", "x".repeat(2 << 20));
    let answer = wire.ask(call("big", "bash", &json!({"command": command})));
    assert_eq!(answer["result"]["isError"], true);
    let text = said(&answer);
    assert!(text.contains("1048576"), "{text}");
    assert!(said(&wire.echo("on")).contains("on"));
}

#[test]
fn sessions_on_two_streams_do_not_wait_for_each_other() {
    let host = Host::start();
    let mut log = host.follow();
    let mut first = Wire::greeted(&host);
    let mut second = Wire::greeted(&host);
    first.send(call(
        "held",
        "bash",
        &json!({"command": "mkfifo gate; echo started; read line < gate; echo got $line"}),
    ));
    assert_eq!(first.receive()["params"]["message"], "started");
    // What lets the first go on comes from the second.
    let opened = second.ask(call(
        "opener",
        "bash",
        &json!({"command": "echo passage > gate"}),
    ));
    assert_eq!(opened["result"]["isError"], false, "{opened}");
    let answer = first.answer(&"held".into());
    assert!(said(&answer).contains("got passage"), "{answer}");

    let mut sessions = Vec::new();
    while sessions.len() < 2 {
        let record = log.next();
        if record["kind"] == "call/finished" {
            sessions.push(record["session"].clone());
        }
    }
    assert_ne!(sessions[0], sessions[1]);
}

#[test]
fn a_client_that_dies_takes_its_call_back() {
    let host = Host::start();
    let mut log = host.follow();
    let mut wire = Wire::greeted(&host);
    wire.send(call(
        "left",
        "bash",
        &json!({"command": "mkfifo gate; echo started; read line < gate"}),
    ));
    assert_eq!(wire.receive()["params"]["message"], "started");
    wire.child.kill().unwrap();
    assert_eq!(log.until("call/finished")["ending"], "cancelled");
    assert_eq!(host.bash("echo on")["ending"], "completed");
}

#[test]
fn a_client_that_dies_takes_its_question_back() {
    let host = Host::start();
    std::fs::create_dir(host.work().join("build")).unwrap();
    let mut watch = host.watch_approvals();
    let mut log = host.follow();
    let mut wire = Wire::greeted(&host);
    wire.send(call("left", "bash", &json!({"command": "rm -rf build"})));
    let raised = watch.raised();
    wire.child.kill().unwrap();
    assert_eq!(log.until("call/finished")["ending"], "cancelled");
    assert_eq!(watch.next()["gone"]["id"], raised["id"]);
    assert!(host.work().join("build").exists());
}

#[test]
fn requests_sent_before_the_end_of_input_are_answered() {
    let host = Host::start();
    let mut wire = Wire::greeted(&host);
    wire.send(call("last", "bash", &json!({"command": "echo last words"})));
    drop(wire.stdin.take());
    assert!(said(&wire.answer(&"last".into())).contains("last words"));
    assert!(wire.child.wait().unwrap().success());
}
