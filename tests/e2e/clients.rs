//! Official MCP clients and the conformance suite, none of which knows Damper.

/// Where they are installed, and how one is run.
mod installed;
/// The protocol itself on `damper mcp`, without any library.
mod raw;

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Stdio},
};

use damper_tests::{Host, guest, root};
use serde_json::{Value, json};

use self::installed::{Running, Way, http, part};

/// Starts a host that is open for HTTP too.
fn host(patch: &str) -> Host {
    let mut host = Host::stopped();
    host.write_patch(patch);
    host.arguments(&["--http", "127.0.0.1:0"]);
    host.serve();
    host
}

/// Starts a client for each way, all at once. `task` gets each one's number.
fn start_all(host: &Host, task: impl Fn(usize) -> Value) -> Vec<Running> {
    let ways = Way::all();
    let clients = ways.iter().enumerate();
    clients
        .map(|(number, way)| way.start(host, task(number)))
        .collect()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn failed(result: &Value) -> bool {
    result["isError"] == true
}

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn every_client_lists_tools_and_calls_them() {
    let host = host("");
    fs::write(host.work().join("poem.txt"), "roses\nviolets\n").unwrap();
    let clients = start_all(&host, |number| {
        json!({"calls": [
            {"name": "read", "arguments": {"file_path": "poem.txt"}},
            {"name": "bash", "arguments": {"command": format!("echo client {number}; pwd")}},
            {"name": "file_info", "arguments": {"paths": ["poem.txt", "missing"]}},
            {"name": "read", "arguments": {"file_path": "missing"}},
            {"name": "read", "arguments": {"path": "poem.txt"}},
        ]})
    });
    let mut agents = BTreeMap::<Option<String>, usize>::new();
    for (number, mut client) in clients.into_iter().enumerate() {
        let answer = client.answer();
        let way = &client.way;
        let protocol = match way.era {
            "legacy" => "2025-11-25",
            _ => "2026-07-28",
        };
        assert_eq!(answer["protocol"], protocol, "{way:?}");
        assert_eq!(answer["server"]["name"], "damper", "{way:?}");
        let tools = &answer["tools"];
        assert_eq!(names(tools), ["bash", "file_info", "grep", "read"]);
        assert_eq!(tools[3]["annotations"]["readOnlyHint"], true);

        let results = answer["results"].as_array().unwrap();
        let wrong: Vec<bool> = results.iter().map(failed).collect();
        assert_eq!(wrong, [false, false, false, true, true], "{way:?}");
        assert!(text(&results[0]).contains("violets"), "{answer:#}");
        assert!(
            text(&results[1]).contains(&format!("client {number}\n")),
            "{answer:#}"
        );
        let work = fs::canonicalize(host.work()).unwrap();
        assert!(text(&results[1]).contains(work.to_str().unwrap()));
        check_file_info(&results[2]["structuredContent"]);
        assert!(text(&results[3]).contains("missing"), "{answer:#}");
        assert!(text(&results[4]).contains("file_path"), "{answer:#}");

        let call = results[1]["_meta"]["damper/call"].as_str().unwrap();
        let records = host.explain(call);
        assert_eq!(records.last().unwrap()["body"]["ending"], "completed");
        // Requests that stand alone share a session over HTTP, so it has nobody's name.
        let alone = way.era == "modern" && way.transport == "http";
        let agent = (!alone).then(|| format!("damper-test-{} 1", way.client));
        *agents.entry(agent).or_default() += 1;
    }
    if let Some(shared) = agents.get_mut(&None) {
        *shared = 1;
    }
    assert_eq!(agents_in_journal(&host), agents);
}

fn check_file_info(structured: &Value) {
    let entries = structured["entries"].as_array().unwrap();
    assert_eq!(entries[0]["requestedPath"], "poem.txt");
    assert_eq!(entries[0]["status"], "file");
    assert_eq!(entries[0]["sizeBytes"], 14);
    assert_eq!(entries[1]["status"], "missing");
    assert_eq!(structured["totals"]["bytes"], 14);
}

/// Returns how many sessions of MCP each agent opened.
fn agents_in_journal(host: &Host) -> BTreeMap<Option<String>, usize> {
    let ran = host.damper(&["log", "tail", "-n", "1000", "--json"]);
    let mut agents = BTreeMap::new();
    for line in ran.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "session/opened" && record["body"]["door"] == "mcp" {
            let agent = record["body"]["agent"].as_str().map(str::to_owned);
            *agents.entry(agent).or_default() += 1;
        }
    }
    agents
}

#[test]
fn every_client_sees_why_a_call_was_denied() {
    let host = host("");
    fs::create_dir(host.work().join("build")).unwrap();
    let clients = start_all(
        &host,
        |_| json!({"calls": [{"name": "bash", "arguments": {"command": "rm -rf build"}}]}),
    );
    for mut client in clients {
        let answer = client.answer();
        let result = &answer["results"][0];
        assert!(failed(result), "{answer:#}");
        for part in [
            "Denied by Damper",
            "rm-recursive-force",
            "damper approvals watch",
            result["_meta"]["damper/call"].as_str().unwrap(),
        ] {
            assert!(text(result).contains(part), "no `{part}` in {answer:#}");
        }
    }
    assert!(host.work().join("build").exists());
}

#[test]
fn every_client_waits_for_an_approval_kept_alive_by_progress() {
    let host = host("");
    let mut watch = host.watch_approvals();
    // The TypeScript client extends its patience with each sign of life and would give up
    // before the second without; Python's has one patience for all.
    let mut clients = Vec::new();
    for (number, way) in Way::all().into_iter().enumerate() {
        fs::create_dir(host.work().join(format!("build-{number}"))).unwrap();
        let patience = match way.client {
            "typescript" => 18_000,
            _ => 110_000,
        };
        let command = format!("rm -rf build-{number}");
        clients.push(way.start(
            &host,
            json!({
                "calls": [{"name": "bash", "arguments": {"command": command}}],
                "progress": true,
                "timeout_ms": patience,
            }),
        ));
    }
    let mut questions = BTreeMap::new();
    for _ in &clients {
        let raised = watch.raised();
        let subject = raised["subject"].as_str().unwrap().to_owned();
        questions.insert(subject, raised["id"].as_str().unwrap().to_owned());
    }
    for client in &mut clients {
        client.until("progress waiting");
        client.until("progress waiting");
    }
    for (number, mut client) in clients.into_iter().enumerate() {
        let build = host.work().join(format!("build-{number}"));
        assert!(build.exists(), "it ran before it was allowed");
        let question = &questions[&format!("rm -rf build-{number}")];
        let ran = host.damper(&["approvals", "allow", question]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer = client.answer();
        assert!(!failed(&answer["results"][0]), "{answer:#}");
        assert!(!build.exists(), "{answer:#}");
        let steps = answer["progress"].as_array().unwrap();
        assert!(steps[1]["progress"].as_f64() > steps[0]["progress"].as_f64());
    }
}

#[test]
fn every_client_hears_that_a_tool_is_gone_and_cannot_call_it() {
    let host = host("");
    let call = json!({"name": "file_info", "arguments": {"paths": ["."]}});
    let mut clients = start_all(&host, |_| json!({"watch": true, "calls": [call]}));
    for client in &mut clients {
        client.until("watching");
    }
    let ran = host.damper(&["row", "disable", "file-info"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for mut client in clients {
        let answer = client.answer();
        assert_eq!(
            names(&answer["tools"]),
            ["bash", "file_info", "grep", "read"]
        );
        assert_eq!(names(&answer["changed_tools"]), ["bash", "grep", "read"]);
        let result = &answer["results"][0];
        assert!(failed(result), "{answer:#}");
        assert!(text(result).contains("`file_info`"), "{answer:#}");
    }
}

#[test]
fn every_client_can_take_a_call_back() {
    let host = host("");
    let mut log = host.follow();
    let mut clients = start_all(&host, |number| {
        let command = format!("mkfifo gate-{number}; echo started $$; read line < gate-{number}");
        json!({
            "calls": [{"name": "bash", "arguments": {"command": command}}],
            "cancel": true,
        })
    });
    let mut shells = Vec::new();
    for client in &mut clients {
        let said = client.until("progress started");
        let shell = said.rsplit(' ').next().unwrap();
        shells.push(rustix::process::Pid::from_raw(shell.parse().unwrap()).unwrap());
        client.until("cancelled");
    }
    // The clients are still connected: it is not their leaving that ends the calls.
    for _ in &clients {
        let finished = log.until("call/finished");
        assert_eq!(finished["ending"], "cancelled", "{finished}");
    }
    for mut client in clients {
        let told = client.told();
        assert!(told["error"].is_object(), "{:?}: {told:#}", client.way);
        assert_eq!(told["results"], json!([]), "{:?}", client.way);
    }
    for shell in shells {
        let alive = rustix::process::test_kill_process(shell);
        assert_eq!(alive, Err(rustix::io::Errno::SRCH), "{shell:?} runs on");
    }
}

#[test]
fn the_conformance_suite_of_2025_11_25_passes() {
    check_conformance(
        "2025-11-25",
        &[
            "dns-rebinding-protection",
            "json-schema-2020-12",
            "ping",
            "server-initialize",
            "server-session-lifecycle",
            "server-sse-multiple-streams",
            "tools-call-error",
            "tools-call-simple-text",
            "tools-list",
        ],
    );
}

#[test]
fn the_conformance_suite_of_2026_07_28_passes() {
    check_conformance(
        "2026-07-28",
        &[
            "dns-rebinding-protection",
            "http-custom-header-server-validation",
            "http-header-validation",
            "input-required-result-ignore-extra-params",
            "input-required-result-unsupported-methods",
            "json-schema-2020-12",
            "server-sse-multiple-streams",
            "tools-call-error",
            "tools-call-simple-text",
            "tools-list",
        ],
    );
}

/// Runs the suite. `expected` are the scenarios that pass as a whole; those of which single
/// checks do not apply are left to the baseline.
fn check_conformance(spec: &str, expected: &[&str]) {
    let (Some(node), Some(script)) = (part("node22"), part("conformance")) else {
        return;
    };
    let plugin = guest("conformance-tools");
    let host = host(&format!(
        "- insert:\n  - id: conformance\n    plugin: {}\n",
        plugin.display()
    ));
    let mut task = http(&host);
    task["spec"] = spec.into();
    task["out"] = json!(host.work().join("report"));
    let output = Command::new(node)
        .arg(script)
        .arg(task.to_string())
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let passed = summary["passed"].as_array().unwrap();
    for scenario in expected {
        assert!(
            passed.contains(&json!(scenario)),
            "`{scenario}` did not pass: {report}"
        );
    }
}
