//! Sessions that are opened in a mode, and coordinators that are narrowed.

use std::{
    io::{BufRead as _, Read as _, Write as _},
    net::TcpStream,
};

use damper_tests::{Host, Piped, guest};
use serde_json::{Value, json};

/// An agent on `damper mcp`.
pub(crate) struct Agent {
    pipes: Piped,
    /// What the host told it when it connected.
    pub(crate) hello: Value,
}

impl Agent {
    pub(crate) fn in_mode(host: &Host, mode: &str) -> Self {
        Self::start(host, &["mcp", "--mode", mode])
    }

    /// Starts an agent by a command line of ours.
    pub(crate) fn start(host: &Host, line: &[&str]) -> Self {
        let pipes = host.spawn(line);
        let mut agent = Self {
            pipes,
            hello: Value::Null,
        };
        agent.hello = agent.ask("initialize", &handshake());
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        agent.pipes.type_line(&ready.to_string());
        agent
    }

    /// Waits for the answer to a request, past what the host says meanwhile.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.pipes.type_line(&request.to_string());
        loop {
            let mut line = String::new();
            assert!(
                self.pipes.stdout.read_line(&mut line).unwrap() > 0,
                "the host hung up"
            );
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == method {
                return message;
            }
        }
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        names(&self.ask("tools/list", &json!({}))["result"]["tools"])
    }

    /// Calls a tool and returns its answer as text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no answer: {answer}"))
            .to_owned()
    }

    fn bash(&mut self) -> Value {
        let call = json!({"name": "bash", "arguments": {"command": "echo done"}});
        self.ask("tools/call", &call)
    }

    #[track_caller]
    fn check_bash_is_unknown(&mut self) {
        let answer = self.bash().to_string();
        assert!(answer.contains("there is no tool `bash`"), "{answer}");
    }

    #[track_caller]
    fn check_bash_runs(&mut self) {
        let answer = self.bash();
        assert!(answer["result"].to_string().contains("done"), "{answer}");
    }
}

fn handshake() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "modes", "version": "1"},
    })
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_shipped_modes_are_listed_with_what_they_are_for() {
    let host = Host::start();
    let modes = host.damper(&["modes", "--json"]).json();
    let ids: Vec<_> = modes
        .as_array()
        .unwrap()
        .iter()
        .map(|mode| &mode["id"])
        .collect();
    assert_eq!(ids, ["solo", "plan", "multitask"]);
    let listed = host.damper(&["modes"]).stdout;
    for part in [
        "One agent does all the work itself",
        "changes nothing",
        "CANNOT RUN: it hands work to workers (subagent, subagent_fork, subagent_ptc, \
         subagent_minimal)",
    ] {
        assert!(listed.contains(part), "no `{part}` in {listed}");
    }
    assert_eq!(listed.matches("CANNOT RUN").count(), 1, "{listed}");
}

#[test]
fn an_agent_in_plan_mode_has_the_tools_that_look_and_no_other() {
    let host = Host::start();
    let mut agent = Agent::in_mode(&host, "plan");
    let told = agent.hello["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("You plan; you change nothing."), "{told}");
    assert_eq!(agent.tools(), ["file_info", "grep", "read"]);
    agent.check_bash_is_unknown();

    let mut agent = Agent::in_mode(&host, "solo");
    let told = agent.hello["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("do the work yourself"), "{told}");
    assert!(agent.tools().contains(&"bash".to_owned()));
    agent.check_bash_runs();
}

#[test]
fn a_call_in_plan_mode_does_not_know_bash() {
    let host = Host::start();
    let bash = |mode| {
        host.damper(&[
            "call",
            "--mode",
            mode,
            "bash",
            r#"{"command": "echo done"}"#,
        ])
    };
    let planned = bash("plan");
    assert_eq!(planned.code, 1, "{planned:?}");
    let told = format!("{}{}", planned.stdout, planned.stderr);
    assert!(told.contains("there is no tool `bash`"), "{told}");
    let done = bash("solo");
    assert_eq!(
        (done.code, done.stdout.contains("done")),
        (0, true),
        "{done:?}"
    );
}

#[test]
fn an_unknown_mode_is_refused_and_the_others_are_named() {
    let host = Host::start();
    for line in [
        &["mcp", "--mode", "nope"][..],
        &["call", "--mode", "nope", "bash", "{}"],
    ] {
        let refused = host.damper(line);
        assert_eq!(refused.code, 6, "{refused:?}");
        let told = &refused.stderr;
        assert!(
            told.contains("there is no mode `nope`; there are `solo`, `plan`"),
            "{told}"
        );
    }
}

#[test]
fn a_mode_that_cannot_run_opens_no_session() {
    let host = Host::start();
    let refused = host.damper(&["mcp", "--mode", "multitask"]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("does not run"), "{refused:?}");
}

#[test]
fn a_mode_is_chosen_over_http_too() {
    let mut host = Host::stopped();
    host.arguments(&["--http", "127.0.0.1:0"]);
    host.serve();
    let status = host.status();
    let http = &status["http"];
    let token = std::fs::read_to_string(http["token_file"].as_str().unwrap()).unwrap();
    let url = http["url"].as_str().unwrap();
    let (authority, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake()});
    let say_hello = |mode: &str| {
        let path = path.trim_end_matches('/');
        let body = hello.to_string();
        let mut stream = TcpStream::connect(authority).unwrap();
        write!(
            stream,
            "POST /{path}/{mode}-1?mode={mode} HTTP/1.1\r\nHost: {authority}\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            token.trim(),
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let planning = say_hello("plan");
    assert!(
        planning.contains("You plan; you change nothing."),
        "{planning}"
    );
    let nowhere = say_hello("nope");
    assert!(nowhere.starts_with("HTTP/1.1 4"), "{nowhere}");
    assert!(nowhere.contains("there is no mode `nope`"), "{nowhere}");
}

#[test]
fn a_session_stays_as_it_was_composed_when_its_mode_is_edited() {
    let host = Host::start();
    let mut before = Agent::in_mode(&host, "plan");
    let had = before.tools();
    host.edit("- id: plan\n  plugin: damper/preset-solo\n");
    assert_eq!(before.tools(), had);
    before.check_bash_is_unknown();

    let mut after = Agent::in_mode(&host, "plan");
    assert!(after.tools().contains(&"bash".to_owned()));
    after.check_bash_runs();
}

#[test]
fn a_coordinator_has_what_its_mode_keeps_and_a_toggle_reaches_its_next_call() {
    let patch = |guard: &str| {
        format!(
            "- id: coordinator-guard\n  for: {{mode: [lead]}}\n  config: {{modes: [lead]}}\n  \
             disabled: {guard}\n- insert:\n    - id: lead\n      plugin: {}\n",
            guest("lead-preset").display()
        )
    };
    let host = Host::with_patch(&patch("false"));
    let mut lead = Agent::in_mode(&host, "lead");
    let mut solo = Agent::in_mode(&host, "solo");
    assert_eq!(lead.tools(), ["read"]);
    lead.check_bash_is_unknown();
    solo.check_bash_runs();

    host.edit(&patch("true"));
    lead.check_bash_runs();
    assert!(lead.tools().contains(&"bash".to_owned()));

    host.edit(&patch("false"));
    lead.check_bash_is_unknown();
    assert_eq!(lead.tools(), ["read"]);
    solo.check_bash_runs();
}
