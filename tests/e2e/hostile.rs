//! Guests that loop, trap, eat memory, flood and lie: each ends as its hook's declared failure,
//! while the host, the other rows and the other calls go on.

use std::{
    fs,
    io::BufRead as _,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};

use damper_tests::{
    Host, Piped, call_at, guest,
    modules::{guest_with, memory},
};
use damper_wasm::Runtime;
use serde_json::{Value, json};

/// How many calls at once run into the hostile guest.
const AT_ONCE: usize = 6;

/// Limits under which a guest that does something else than to loop does not run out of time
/// first, however busy the machine is.
const PATIENT: &str = "{guest_time: 30s, wall_time: 1m}";

/// A guest that fails, and how it is told.
struct Fault {
    guest: &'static str,
    /// The row's configuration, as YAML.
    config: &'static str,
    /// The row's limits, as YAML.
    limits: &'static str,
    /// The kind under which status counts it.
    kind: &'static str,
    /// What every message about it says.
    named: &'static str,
}

#[test]
fn a_guard_that_loops_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-loop",
        config: "{}",
        limits: "{wall_time: 1m}",
        kind: "limit",
        named: "hit the guest time limit of 100 ms (raise `limits.guest_time` in its row)",
    });
}

#[test]
fn a_guard_that_traps_is_an_ask_with_its_last_words() {
    check(&Fault {
        guest: "hostile-trap",
        config: "{}",
        limits: PATIENT,
        kind: "trap",
        named: "hostile-trap panics on purpose",
    });
}

#[test]
fn a_guard_that_eats_memory_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-memory",
        config: "{}",
        limits: PATIENT,
        kind: "limit",
        named: "hit the memory limit of 64 MiB (raise `limits.memory` in its row)",
    });
}

#[test]
fn a_guard_that_floods_its_log_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-log",
        config: "{}",
        limits: PATIENT,
        kind: "limit",
        named: "hit the log size limit of 64 KiB (raise `limits.log` in its row)",
    });
}

#[test]
fn a_guard_with_a_huge_answer_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-answer",
        config: "{}",
        limits: PATIENT,
        kind: "limit",
        named: "hit the answer size limit of 256 KiB (raise `limits.answer` in its row)",
    });
}

#[test]
fn a_guard_that_floods_the_host_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-calls",
        config: "{}",
        limits: PATIENT,
        kind: "limit",
        named: "hit the host call limit of 1000 (raise `limits.host_calls` in its row)",
    });
}

#[test]
fn a_guard_that_exits_is_an_ask_though_its_code_means_success() {
    check(&Fault {
        guest: "hostile-exit",
        config: "{}",
        limits: PATIENT,
        kind: "exit",
        named: "called exit(0) instead of answering",
    });
}

#[test]
fn a_guard_that_answers_nonsense_is_an_ask_that_names_it() {
    let large = "{answer: 4MiB, guest_time: 30s, wall_time: 1m}";
    let table = [
        ("{how: span}", PATIENT, "a span of bytes 0 to 4294967295"),
        ("{how: backwards}", PATIENT, "a span of bytes 2 to 1"),
        ("{how: huge}", large, "rule ids: at most 64"),
        ("{how: empty}", PATIENT, "an objection without a reason"),
        ("{how: control}", PATIENT, "visible ASCII characters"),
        (
            "{how: language}",
            PATIENT,
            "`no language\\n` is no language tag",
        ),
    ];
    for (config, limits, named) in table {
        check(&Fault {
            guest: "hostile-nonsense",
            config,
            limits,
            kind: "nonsense",
            named,
        });
    }
}

#[test]
fn a_guard_with_too_many_rules_is_an_ask_that_names_the_limit() {
    check(&Fault {
        guest: "hostile-nonsense",
        config: "{how: huge}",
        limits: PATIENT,
        kind: "limit",
        named: "hit the answer size limit of 256 KiB (raise `limits.answer` in its row)",
    });
}

fn check(fault: &Fault) {
    let row = |on_failure: &str| {
        insert(&[format!(
            "{{id: hostile, plugin: {}, config: {}, limits: {}, on_failure: {on_failure}, for: {{door: [cli]}}}}",
            guest(fault.guest).display(),
            fault.config,
            fault.limits
        )])
    };
    let host = Host::with_patch(&row("ask"));
    check_others_go_on(&host, fault);
    check_recorded(&host, fault);
    let failures = host.row("hostile")["counters"]["failures"].clone();
    assert_eq!(failures, json!({ fault.kind: AT_ONCE + 1 }));

    host.edit(&row("deny"));
    let report = host.bash("true");
    assert_eq!(report["ending"], "denied", "{report}");
    assert!(text(&report).contains(fault.named), "{report}");
    assert!(!text(&report).contains("approval"), "{report}");

    host.edit(&row("pass"));
    let report = host.bash("true");
    assert_eq!(report["ending"], "completed", "{report}");
    let records = host.explain(report["call"].as_str().unwrap());
    let opinions = records
        .iter()
        .find(|record| record["kind"] == "call/decided")
        .unwrap()["body"]["opinions"]
        .clone();
    let opinion = opinion_of(&opinions, "hostile");
    assert_eq!(opinion["verdict"], "allow");
    assert!(opinion["failure"].as_str().unwrap().contains(fault.named));
}

/// Calls that the hostile row covers, at once with calls that it does not.
fn check_others_go_on(host: &Host, fault: &Fault) {
    let mut other = McpSession::open(host);
    let socket = host.socket();
    let start = Barrier::new(AT_ONCE + 1);
    thread::scope(|scope| {
        for turn in 0..AT_ONCE {
            let (socket, start) = (&socket, &start);
            let work = host.work();
            scope.spawn(move || {
                start.wait();
                let command = json!({"command": "touch ran"});
                let id = format!("hostile-{turn}");
                let report = call_at(socket, work, "bash", &command, &id).unwrap();
                assert_eq!(report["ending"], "denied", "{report}");
                assert!(text(&report).contains(fault.named), "{report}");
                assert!(text(&report).contains("guard `hostile`"), "{report}");
                assert!(text(&report).contains("damper approvals watch"), "{report}");
            });
        }
        start.wait();
        for _ in 0..AT_ONCE {
            other.check_works();
        }
    });
    assert!(!host.work().join("ran").exists());
}

/// A failure is on record with the plugin, its digest and that of what it was asked about.
fn check_recorded(host: &Host, fault: &Fault) {
    let arguments = json!({"command": "touch ran"});
    let report = host.call("bash", &arguments);
    let records = host.explain(report["call"].as_str().unwrap());
    let failed = &records
        .iter()
        .find(|record| record["kind"] == "guest/failed")
        .unwrap()["body"];
    assert_eq!(failed["row"], "hostile");
    assert_eq!(failed["plugin"], format!("test/{}", fault.guest));
    assert_eq!(failed["digest"], host.row("hostile")["digest_running"]);
    assert_eq!(failed["hook"], "guard.check");
    assert!(failed["failure"].as_str().unwrap().contains(fault.named));
    let input = Runtime::digest(arguments.to_string().as_bytes());
    assert_eq!(failed["input_digest"], serde_json::to_value(input).unwrap());
    let shown = host.damper(&["explain", report["call"].as_str().unwrap()]);
    assert!(shown.stdout.contains(fault.named), "{}", shown.stdout);
}

/// Returns a patch that adds rows.
fn insert(rows: &[String]) -> String {
    let rows: String = rows.iter().map(|row| format!("  - {row}\n")).collect();
    format!("- insert:\n{rows}")
}

fn row(id: &str, guest_name: &str, more: &str) -> String {
    format!(
        "{{id: {id}, plugin: {}{more}}}",
        guest(guest_name).display()
    )
}

fn text(report: &Value) -> &str {
    report["text"].as_str().unwrap()
}

fn opinion_of(opinions: &Value, row: &str) -> Value {
    let mut all = opinions.as_array().unwrap().iter();
    all.find(|opinion| opinion["row"] == row).unwrap().clone()
}

/// A session of another door than that of `damper call`.
struct McpSession {
    process: Piped,
    requests: u64,
}

impl McpSession {
    fn open(host: &Host) -> Self {
        let mut session = Self {
            process: host.spawn(&["mcp"]),
            requests: 0,
        };
        session.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        session.process.type_line(&ready.to_string());
        session
    }

    /// Makes a call that nobody objects to.
    fn check_works(&mut self) {
        let arguments = json!({"command": "echo fine"});
        let params = json!({"name": "bash", "arguments": arguments});
        let result = self.request("tools/call", &params);
        assert_ne!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("fine\n"), "{result}");
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.process.type_line(&request.to_string());
        loop {
            let mut line = String::new();
            assert!(self.process.stdout.read_line(&mut line).unwrap() > 0);
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }
}

#[test]
fn a_guard_that_never_finishes_configuring_is_rejected_and_the_rest_runs() {
    let rows = [
        row("elsewhere", "hostile-configure", ", for: {door: [mcp]}"),
        row("marked", "mark-guard", ", for: {door: [mcp]}"),
    ];
    let host = Host::with_patch(&insert(&rows));
    let rejected = host.row("elsewhere");
    assert_eq!(rejected["state"], "failed", "{rejected}");
    assert_eq!(rejected["vote"], "ask");
    let why = "hit the guest time limit of 100 ms (raise `limits.guest_time` in its row)";
    assert!(
        rejected["reason"].as_str().unwrap().contains(why),
        "{rejected}"
    );
    assert_eq!(host.row("marked")["state"], "running");
    assert_eq!(host.row("approval-gate")["state"], "running");
    assert_eq!(host.bash("true")["ending"], "completed");

    let applied = host.edit(&insert(&[row("here", "hostile-configure", "")]));
    let results = applied["results"].as_array().unwrap();
    let result = results
        .iter()
        .find(|result| result["row"] == "here")
        .unwrap();
    assert_eq!(result["change"], "rejected", "{applied}");
    let report = host.bash("true");
    assert_eq!(report["ending"], "denied", "{report}");
    assert!(
        text(&report).contains("the guard `here` does not run"),
        "{report}"
    );
    assert!(text(&report).contains(why), "{report}");
}

#[test]
fn the_limits_of_a_row_take_effect_and_are_named() {
    let table = [
        (
            "hostile-loop",
            "guest_time: 20ms",
            "guest time limit of 20 ms",
        ),
        (
            "hostile-loop",
            "guest_time: 1m, wall_time: 50ms",
            "wall time limit of 50 ms",
        ),
        (
            "hostile-memory",
            "memory: 8MiB, guest_time: 30s, wall_time: 1m",
            "memory limit of 8 MiB",
        ),
        (
            "hostile-log",
            "log: 1KiB, guest_time: 30s, wall_time: 1m",
            "log size limit of 1 KiB",
        ),
        (
            "hostile-calls",
            "host_calls: 5, guest_time: 30s, wall_time: 1m",
            "host call limit of 5",
        ),
        (
            "hostile-answer",
            "answer: 1KiB, guest_time: 30s, wall_time: 1m",
            "answer size limit of 1 KiB",
        ),
        (
            "allow-guard",
            "arguments: 100B, guest_time: 30s, wall_time: 1m",
            "argument size limit of 100 bytes",
        ),
    ];
    let rows: Vec<String> = table
        .iter()
        .enumerate()
        .map(|(n, (guest, limits, _named))| {
            row(
                &format!("row-{n}"),
                guest,
                &format!(", limits: {{{limits}}}"),
            )
        })
        .collect();
    let host = Host::with_patch(&insert(&rows));
    let report = host.bash(&format!("true {}", "x".repeat(100)));
    assert_eq!(report["ending"], "denied", "{report}");
    for (n, (_guest, _limits, named)) in table.iter().enumerate() {
        let line = format!("the guard `row-{n}` hit the {named} (raise `limits.");
        assert!(text(&report).contains(&line), "{line}: {report}");
    }
    assert_eq!(host.row("row-0")["limits"]["guest_time"], "20ms");
    assert_eq!(host.row("row-2")["limits"]["memory"], "8MiB");
}

#[test]
fn a_limit_above_the_hosts_ceiling_is_refused_with_its_place() {
    let patch = format!(
        "- insert:\n  - id: greedy\n    plugin: {}\n    limits:\n      memory: 512MiB\n",
        guest("allow-guard").display()
    );
    let host = Host::with_patch(&patch);
    let greedy = host.row("greedy");
    assert_eq!(greedy["state"], "failed", "{greedy}");
    let reason = greedy["reason"].as_str().unwrap();
    assert!(reason.contains("default.patch.yaml:5:"), "{reason}");
    assert!(reason.contains("ceiling"), "{reason}");
}

#[test]
fn memories_of_a_plugin_count_together_against_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("four.wasm");
    // 16 MiB each: none is too much by itself.
    let four = guest_with("allow-guard", &[(); 4].map(|()| memory(256)));
    fs::write(&path, four).unwrap();
    let path = path.display();
    let host = Host::with_patch(&insert(&[
        format!("{{id: too-much, plugin: {path}}}"),
        format!("{{id: enough, plugin: {path}, limits: {{memory: 80MiB}}}}"),
    ]));
    let too_much = host.row("too-much");
    assert_eq!(too_much["state"], "failed", "{too_much}");
    let named = "hit the memory limit of 64 MiB (raise `limits.memory` in its row)";
    assert!(
        too_much["reason"].as_str().unwrap().contains(named),
        "{too_much}"
    );
    assert_eq!(host.row("enough")["state"], "running");
    let report = host.bash("true");
    assert!(text(&report).contains(named), "{report}");
    assert!(!text(&report).contains("`enough`"), "{report}");
}

#[test]
fn more_memories_than_a_plugin_may_have_are_refused_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let many = folder.path().join("many.wasm");
    fs::write(
        &many,
        guest_with("allow-guard", &[(); 8].map(|()| memory(1))),
    )
    .unwrap();
    let row = format!("{{id: many, plugin: {}}}", many.display());
    let host = Host::with_patch(&insert(&[row]));
    let many = host.row("many");
    assert_eq!(many["state"], "failed", "{many}");
    let reason = many["reason"].as_str().unwrap();
    assert!(reason.contains("9 Wasm linear memories"), "{reason}");
    assert!(reason.contains("maximum of 8"), "{reason}");
}

/// More calls than may run and wait: 64 and 256.
const TOO_MANY: usize = 64 + 256 + 20;

#[test]
fn more_calls_than_there_are_places_end_as_a_named_overload() {
    let more = ", on_failure: deny, for: {door: [cli]}, limits: {guest_time: 1m, wall_time: 2s}";
    let host = Host::with_patch(&insert(&[row("slow", "hostile-loop", more)]));
    let socket = host.socket();
    let reports: Vec<Value> = thread::scope(|scope| {
        let calls: Vec<_> = (0..TOO_MANY)
            .map(|n| {
                let (socket, work): (&PathBuf, &Path) = (&socket, host.work());
                let call = move || {
                    let command = json!({"command": "touch ran"});
                    call_at(socket, work, "bash", &command, &format!("call-{n}")).unwrap()
                };
                scope.spawn(call)
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let overload = "no place among 64 running and 256 waiting guest calls within 500 ms";
    let mut overloaded = 0;
    for report in &reports {
        assert_eq!(report["ending"], "denied", "{report}");
        let is_overload = text(report).contains(overload);
        let is_slow = text(report).contains("hit the wall time limit of 2 s");
        assert!(is_overload || is_slow, "{report}");
        overloaded += usize::from(is_overload);
    }
    assert!(overloaded > 0);
    let failures = host.row("slow")["counters"]["failures"].clone();
    assert_eq!(failures["overload"], overloaded);
    assert_eq!(failures["limit"], TOO_MANY - overloaded);
    assert!(!host.work().join("ran").exists());
    let mut other = McpSession::open(&host);
    other.check_works();
}

#[test]
fn a_guard_that_denies_wins_over_one_that_fails() {
    let failing = row("failing", "hostile-trap", "");
    let denying = row("denying", "deny-guard", "");
    for rows in [[failing.clone(), denying.clone()], [denying, failing]] {
        let host = Host::with_patch(&insert(&rows));
        let report = host.bash("true");
        assert_eq!(report["ending"], "denied", "{report}");
        assert!(text(&report).contains("this guard denies everything"));
        assert!(!text(&report).contains("approval"), "{report}");
        let records = host.explain(report["call"].as_str().unwrap());
        let decided = records
            .iter()
            .find(|record| record["kind"] == "call/decided")
            .unwrap();
        let opinions = &decided["body"]["opinions"];
        assert_eq!(opinion_of(opinions, "failing")["verdict"], "ask");
        assert_eq!(opinion_of(opinions, "denying")["verdict"], "deny");
    }
}

#[test]
fn a_tool_that_never_ends_is_timed_out_and_its_plugin_goes_on() {
    let table = [
        (
            "guest_time: 400ms, host_calls: 1000000",
            "hit the guest time limit of 400 ms (raise `limits.guest_time` in its row)",
        ),
        (
            "guest_time: 1m, wall_time: 1s, host_calls: 1000000",
            "hit the wall time limit of 1 s (raise `limits.wall_time` in its row)",
        ),
    ];
    for (limits, named) in table {
        let more = format!(", limits: {{{limits}}}");
        let host = Host::with_patch(&insert(&[row("slow", "slow-tool", &more)]));
        let report = host.call("spin", &json!({}));
        assert_eq!(report["ending"], "timed-out", "{report}");
        assert_eq!(report["is_error"], true);
        assert!(text(&report).contains("`test/slow-tool` of row `slow`"));
        assert!(text(&report).contains(named), "{report}");
        let records = host.explain(report["call"].as_str().unwrap());
        let failed = records
            .iter()
            .find(|record| record["kind"] == "guest/failed")
            .unwrap();
        assert_eq!(failed["body"]["hook"], "tool.run");
        assert_eq!(failed["body"]["failure"], named);
        assert_eq!(
            host.row("slow")["counters"]["failures"],
            json!({"limit": 1})
        );
        let report = host.call("mark", &json!({}));
        assert_eq!(report["ending"], "completed", "{report}");
        assert_eq!(report["text"], "mark-a");
    }
}

#[test]
fn what_a_guest_says_cannot_move_the_cursor() {
    let rows = [
        row("rude", "hostile-nonsense", ", config: {how: terminal}"),
        row("ruder", "hostile-nonsense", ", config: {how: language}"),
    ];
    let host = Host::with_patch(&insert(&rows));
    let mut watch = host.watch_approvals();
    let call = host.spawn(&[
        "call",
        "bash",
        r#"{"command": "true"}"#,
        "--id",
        "rude-call",
    ]);
    let raised = watch.raised();
    let card = host.damper(&["approvals", "list"]);
    assert!(card.stdout.contains("red"), "{}", card.stdout);
    let id = raised["id"].as_str().unwrap();
    let answer = host.damper(&["approvals", "deny", id]);
    call.output();
    let mut shown = vec![card, answer];
    for command in [
        ["explain", "rude-call"].as_slice(),
        &["call", "bash", "{}", "--id", "rude-call"],
        &["status"],
        &["log", "tail"],
        &["row", "list"],
    ] {
        shown.push(host.damper(command));
    }
    for ran in shown {
        for text in [ran.stdout, ran.stderr] {
            let rude = text.chars().find(|c| {
                (c.is_control() && !matches!(c, '\n' | '\t'))
                    || matches!(c, '\u{202a}'..='\u{202e}')
            });
            assert_eq!(rude, None, "{text}");
        }
    }
    let log = host.log();
    assert!(
        !log.contains('\u{1b}') && !log.contains('\u{202e}'),
        "{log}"
    );
}
