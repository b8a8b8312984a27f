//! Calls, guards and the person who is asked.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::PathBuf,
    process::Command,
};

use damper_tests::Host;
use serde_json::{Value, json};

#[test]
fn a_harmless_command_runs_unasked_and_is_explained() {
    let host = Host::start();
    std::fs::write(host.work().join("seen.txt"), "x").unwrap();
    let report = host.bash("ls");
    assert_eq!(report["ending"], "completed", "{report}");
    assert!(report["text"].as_str().unwrap().contains("seen.txt"));
    let records = host.explain(report["call"].as_str().unwrap());
    let kinds: Vec<&str> = records
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "call/received",
            "call/decided",
            "call/started",
            "call/finished"
        ]
    );
    assert_eq!(records[1]["body"]["opinions"][0]["row"], "approval-gate");
}

#[test]
fn a_destructive_command_is_denied_at_once_with_nobody_there() {
    let host = Host::start();
    std::fs::create_dir(host.work().join("build")).unwrap();
    let ran = host.damper(&["call", "bash", r#"{"command": "rm -rf build"}"#]);
    assert_eq!(ran.code, 5);
    assert!(
        ran.stderr.contains("damper approvals watch"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("rm-recursive-force"), "{}", ran.stderr);
    assert!(host.work().join("build").exists());
}

#[test]
fn a_question_is_held_while_somebody_watches_and_obeys_the_answer() {
    let host = Host::start();
    let mut watch = host.watch_approvals();
    for (allow, ending) in [(false, "denied"), (true, "completed")] {
        std::fs::create_dir_all(host.work().join("build")).unwrap();
        let call = host.spawn_call("bash", &json!({"command": "rm -rf build"}), &[]);
        let raised = watch.raised();
        assert_eq!(raised["subject"], "rm -rf build");
        watch.type_line(&format!(
            "{} {}",
            if allow { "a" } else { "d" },
            raised["id"].as_str().unwrap()
        ));
        let report = call.output().json();
        assert_eq!(report["ending"], ending, "{report}");
        assert_eq!(host.work().join("build").exists(), !allow);
    }
}

/// Makes a named pipe in the folder that commands run in.
fn pipe(host: &Host, name: &str) -> PathBuf {
    let path = host.work().join(name);
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

/// Returns the text of a field of a report.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{field}` in {value}"))
}

/// Returns the kinds of a call's records.
fn kinds(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| text(record, "kind")).collect()
}

/// Says something on the control socket and returns the answer.
fn say(host: &Host, line: &str) -> Value {
    let socket = host.status()["socket"].as_str().unwrap().to_owned();
    let mut stream = UnixStream::connect(socket).unwrap();
    // A host that has heard enough closes the connection before all is written.
    drop(
        stream
            .write_all(line.as_bytes())
            .and_then(|()| stream.write_all(b"\n")),
    );
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[test]
fn each_answer_is_explained_with_guard_rule_and_who_answered() {
    let host = Host::start();
    let _watch = host.watch_approvals();
    for (verb, ending, told) in [
        ("deny", "denied", "denied by ann: not today"),
        ("allow", "completed", "allowed by ann: not today"),
    ] {
        std::fs::create_dir_all(host.work().join("build")).unwrap();
        let mut log = host.follow();
        let call = host.spawn_call("bash", &json!({"command": "rm -rf build"}), &[]);
        let raised = log.until("approval/raised");
        let listed = host.damper(&["approvals", "list", "--json"]).json();
        assert_eq!(listed[0]["id"], raised["approval"]);
        assert_eq!(listed[0]["subject"], "rm -rf build");
        let listed = host.damper(&["approvals", "list"]);
        assert!(listed.stdout.contains("rm -rf build"), "{listed:?}");

        let id = text(&raised, "approval");
        let answered = host
            .command()
            .args(["approvals", verb, id, "--why", "not today"])
            .env("USER", "ann")
            .status()
            .unwrap();
        assert!(answered.success());
        let report = call.output().json();
        assert_eq!(report["ending"], ending, "{report}");
        assert_eq!(host.work().join("build").exists(), verb == "deny");
        assert_eq!(text(&report, "text").contains("not today"), verb == "deny");

        let told_again = host.damper(&["approvals", verb, id]);
        assert_eq!(told_again.code, 6, "{told_again:?}");
        let explained = host.damper(&["explain", text(&report, "call")]);
        for part in ["approval-gate", "ask", "rm-recursive-force", told, ending] {
            assert!(explained.stdout.contains(part), "{part}: {explained:?}");
        }
        assert_eq!(host.damper(&["explain", "--last"]).stdout, explained.stdout);
    }
}

#[test]
fn the_watcher_who_leaves_while_a_question_waits_denies_it() {
    let host = Host::start();
    std::fs::create_dir(host.work().join("build")).unwrap();
    let mut watch = host.watch_approvals();
    let call = host.spawn_call("bash", &json!({"command": "rm -rf build"}), &[]);
    watch.raised();
    drop(watch);
    let report = call.output().json();
    assert_eq!(report["ending"], "denied", "{report}");
    assert!(host.work().join("build").exists());
    let records = host.explain(text(&report, "call"));
    let answer = &records[3];
    assert_eq!(answer["kind"], "approval/answered");
    assert_eq!(answer["body"]["by"], "nobody");
    assert_eq!(host.status()["attended"], false);
}

#[test]
fn a_call_that_is_taken_back_withdraws_its_question() {
    let host = Host::start();
    std::fs::create_dir(host.work().join("build")).unwrap();
    let mut watch = host.watch_approvals();
    let mut log = host.follow();
    let mut call = host.spawn_call("bash", &json!({"command": "rm -rf build"}), &[]);
    let raised = watch.raised();
    call.kill();
    let gone = watch.next();
    assert_eq!(gone["gone"]["id"], raised["id"], "{gone}");
    let finished = log.until("call/finished");
    assert_eq!(finished["ending"], "cancelled", "{finished}");
    assert_eq!(
        host.damper(&["approvals", "list", "--json"]).json(),
        json!([])
    );
    let records = host.explain(text(&finished, "call"));
    assert!(!kinds(&records).contains(&"call/started"), "{records:?}");
    assert!(host.work().join("build").exists());
}

#[test]
fn a_call_that_is_taken_back_ends_every_process_of_its_command() {
    let host = Host::start();
    let ready = pipe(&host, "ready");
    let mut log = host.follow();
    let command = "sleep 1000 & one=$!; setsid sleep 1000 & echo $$ $one $! > ready; wait";
    let mut call = host.spawn_call("bash", &json!({"command": command}), &[]);
    let pids = std::fs::read_to_string(ready).unwrap();
    call.kill();
    let finished = log.until("call/finished");
    assert_eq!(finished["ending"], "cancelled", "{finished}");
    assert_eq!(pids.split_whitespace().count(), 3, "{pids}");
    for pid in pids.split_whitespace() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        assert_eq!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH),
            "{pid:?} is left of {pids}"
        );
    }
    let records = host.explain(text(&finished, "call"));
    assert_eq!(
        kinds(&records),
        [
            "call/received",
            "call/decided",
            "call/started",
            "call/finished"
        ]
    );
    assert_eq!(host.status()["calls_in_flight"], 0);
}

#[test]
fn a_call_that_is_made_twice_under_one_id_runs_once() {
    let host = Host::start();
    let call = || {
        let arguments = json!({"command": "echo once | tee -a ran"}).to_string();
        host.damper(&["call", "bash", &arguments, "--id", "deploy-42", "--json"])
            .json()
    };
    let (first, second) = (call(), call());
    assert_eq!(first["ending"], "completed", "{first}");
    assert_eq!(first, second);
    let ran = std::fs::read_to_string(host.work().join("ran")).unwrap();
    assert_eq!(ran, "once\n");

    let refused = host.damper(&["call", "bash", "{}", "--id", "not an id"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("--id"), "{}", refused.stderr);
}

#[test]
fn calls_that_are_made_at_once_under_one_id_run_once() {
    let host = Host::start();
    let arguments = json!({"command": "echo once >> ran"});
    let calls: Vec<_> = (0..8)
        .map(|_| host.spawn_call("bash", &arguments, &["--id", "at-once"]))
        .collect();
    let reports: Vec<Value> = calls.into_iter().map(|call| call.output().json()).collect();
    let ran = std::fs::read_to_string(host.work().join("ran")).unwrap();
    assert_eq!(ran, "once\n");
    for report in &reports {
        let ending = text(report, "ending");
        assert!(matches!(ending, "completed" | "unknown"), "{report}");
    }
    assert!(reports.iter().any(|report| report["ending"] == "completed"));
    let records = host.explain("at-once");
    let received = kinds(&records)
        .iter()
        .filter(|kind| **kind == "call/received")
        .count();
    assert_eq!(received, 1, "{records:?}");
}

#[test]
fn what_cannot_be_called_says_what_can() {
    let host = Host::start();
    let cases = [
        (
            "bsh",
            json!({}),
            "there is no tool `bsh`; there are `bash`, `file_info`, `grep`, `read`",
        ),
        ("bash", json!({}), "\"command\" is a required property"),
        ("bash", json!({"command": 7}), "`/command`"),
        (
            "bash",
            json!({"command": "ls", "comand": "x"}),
            "`bash` has no argument `comand`; it accepts",
        ),
    ];
    for (tool, arguments, told) in cases {
        let report = host.call(tool, &arguments);
        assert_eq!(report["ending"], "failed", "{report}");
        assert_eq!(report["is_error"], true);
        assert!(text(&report, "text").contains(told), "{told}: {report}");
        let records = host.explain(text(&report, "call"));
        assert_eq!(kinds(&records), ["call/received", "call/finished"]);
    }
    for broken in ["[]", "{", "7", ""] {
        let ran = host.damper(&["call", "bash", broken]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains("the arguments of `bash`"), "{ran:?}");
    }
}

#[test]
fn arguments_above_the_limit_are_refused_by_name() {
    let host = Host::start();
    let order = |size: usize| {
        let arguments = json!({"command": format!("true {}", "x".repeat(size))}).to_string();
        let order = json!({"op": "call", "tool": "bash", "arguments": arguments, "cwd": host.work(), "id": null});
        say(&host, &order.to_string())
    };
    let answer = order(1 << 20);
    assert_eq!(answer["end"]["ending"], "failed", "{answer}");
    assert!(
        text(&answer["end"], "text").contains("a call takes at most 1048576"),
        "{answer}"
    );
    let records = host.explain(text(&answer["end"], "call"));
    assert_eq!(kinds(&records), ["call/received", "call/finished"]);
    assert!(
        records[0]["body"]["arguments"]["too_large"]
            .as_u64()
            .unwrap()
            > 1 << 20
    );

    let answer = order(3 << 20);
    assert_eq!(answer["error"]["kind"], "bad-request", "{answer}");
    assert_eq!(host.bash("true")["ending"], "completed");
}

#[test]
fn secrets_are_taken_out_before_anything_is_journalled() {
    let host = Host::start();
    for command in [
        "true --password hunter2",
        "API_KEY=hunter2 true",
        "API_KEY=hunter2 rm -rf build",
        "rm -rf https://ann:hunter2@host/build",
    ] {
        host.bash(command);
    }
    for arguments in [
        &["log", "tail", "--json"][..],
        &["log", "tail"],
        &["explain", "--last"],
    ] {
        let told = host.damper(arguments);
        assert!(told.stdout.contains("[redacted]"), "{told:?}");
        assert!(!told.stdout.contains("hunter2"), "{told:?}");
    }
}

#[test]
fn a_long_answer_is_kept_whole_beside_its_record() {
    let host = Host::start();
    let whole = "\u{20ac}".repeat(25_000);
    std::fs::write(host.work().join("long"), &whole).unwrap();
    let report = host.bash("cat long");
    let short = text(&report, "text");
    assert!(short.len() < whole.len());
    let digest = short
        .split("damper log content ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .unwrap_or_else(|| panic!("no digest in {short}"));
    let content = host.damper(&["log", "content", digest]);
    assert!(content.stdout.contains(&whole), "{}", content.stdout.len());

    let finished = host.explain(text(&report, "call")).pop().unwrap();
    assert_eq!(finished["body"]["content"], digest);
    assert_eq!(finished["body"]["truncated"], true);
    let nothing = format!("sha256:{}", "0".repeat(64));
    assert_eq!(host.damper(&["log", "content", &nothing]).code, 6);
}

#[test]
fn a_second_host_names_the_first() {
    let host = Host::start();
    let second = host.damper(&["serve"]);
    assert_eq!(second.code, 3, "{second:?}");
    for part in [
        &format!("pid {}", host.pid()),
        "profile `default`",
        "damper stop",
    ] {
        assert!(second.stderr.contains(part), "{part}: {second:?}");
    }
    assert_eq!(host.bash("true")["ending"], "completed");
}

#[test]
fn stop_waits_for_calls_under_way_and_gives_them_their_answers() {
    let mut host = Host::start();
    let go = pipe(&host, "go");
    let mut log = host.follow();
    let call = host.spawn_call("bash", &json!({"command": "cat go"}), &[]);
    log.until("call/started");
    let stop = host.spawn(&["stop"]);
    log.ended();
    assert_eq!(
        host.damper(&["call", "bash", "{}"]).code,
        1,
        "a stopping host takes no call"
    );
    std::fs::write(go, "went\n").unwrap();
    let report = call.output().json();
    assert_eq!(report["ending"], "completed", "{report}");
    assert!(text(&report, "text").contains("went"), "{report}");
    assert_eq!(stop.output().code, 0);
    assert_eq!(host.ended(), Some(0));

    host.serve();
    let tail = host.damper(&["log", "tail", "--json"]).stdout;
    assert!(tail.contains("host/stopped"), "{tail}");
    assert!(host.status().get("recovered").is_none());
}

#[test]
fn status_tells_what_runs() {
    let host = Host::start();
    host.bash("ls");
    let status = host.status();
    assert_eq!(status["pid"], host.pid());
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["profile"], "default");
    assert_eq!(status["home"], host.home().to_str().unwrap());
    assert_eq!(status["ready"], true);
    assert_eq!(status["generation"], 1);
    assert_eq!(status["attended"], false);
    assert_eq!(status["approvals_waiting"], 0);
    assert_eq!(status["calls_in_flight"], 0);
    assert_eq!(status["problems"], json!([]));
    assert_eq!(
        status["ceilings"],
        json!({"memory": "256MiB", "calls": "64", "queue": "256", "queue_time": "500ms"})
    );
    let gate = host.row("approval-gate");
    assert_eq!(gate["state"], "running");
    assert_eq!(gate["brings"], "plugin damper/approval-gate");
    assert_eq!(gate["digest_running"], gate["digest_on_disk"]);
    assert_eq!(gate["hooks"], json!(["guard.check"]));
    assert_eq!(gate["counters"]["calls"], 1);
    assert_eq!(gate["counters"]["allow"], 1);
    assert_eq!(
        gate["limits"],
        json!({"memory": "64MiB", "guest_time": "100ms", "wall_time": "2s", "answer": "256KiB",
            "log": "64KiB", "host_calls": 1000, "arguments": "1MiB", "state": "1MiB"})
    );
    let info = host.row("file-info");
    assert_eq!(info["tools"], json!(["file_info"]));
    assert_eq!(info["grants"], json!(["files.metadata: workspace"]));
    assert_eq!(info["limits"]["guest_time"], "10s");
    assert_eq!(
        host.row("files-and-shell")["tools"],
        json!(["read", "grep", "bash"])
    );
    let told = host.damper(&["status"]).stdout;
    for part in [
        "approval-gate",
        "running",
        "profile `default`",
        "nobody is attached",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn http_without_the_token_is_refused() {
    let mut host = Host::stopped();
    host.arguments(&["--http", "127.0.0.1:0"]);
    host.serve();
    let http = host.status()["http"].clone();
    let address = text(&http, "url")
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let token = std::fs::read_to_string(text(&http, "token_file")).unwrap();
    let body = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}"#;
    let ask = |authorization: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        let length = body.len();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {length}\r\n{authorization}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).unwrap();
        status
    };
    for refused in [
        "",
        "Authorization: Bearer wrong\r\n",
        "Authorization: Bearer \r\n",
    ] {
        assert!(ask(refused).starts_with("HTTP/1.1 401"), "{refused}");
    }
    let status = ask(&format!("Authorization: Bearer {}\r\n", token.trim()));
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
}

#[test]
fn exit_codes_tell_what_happened() {
    let mut host = Host::start();
    for (arguments, code) in [
        (&["call", "bash", r#"{"command": "true"}"#][..], 0),
        (&["call", "bash", r#"{"command": "false"}"#], 1),
        (&["call", "nothing"], 1),
        (&["call"], 2),
        (&["no-such-command"], 2),
        (&["serve"], 3),
        (&["call", "bash", r#"{"command": "rm -rf build"}"#], 5),
        (&["explain", "no-such-call"], 6),
        (&["approvals", "allow", "no-such-question"], 6),
        (&["row", "disable", "no-such-row"], 6),
        (&["stop"], 0),
    ] {
        let ran = host.damper(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
    }
    assert_eq!(host.ended(), Some(0));
    for arguments in [
        &["status"][..],
        &["stop"],
        &["explain", "--last"],
        &["log", "tail"],
        &["row", "list"],
    ] {
        let ran = host.damper(arguments);
        assert_eq!(ran.code, 4, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("damper serve"), "{ran:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_command_quietly() {
    let host = Host::start();
    for _ in 0..40 {
        host.bash("echo a line");
    }
    let ran = std::process::Command::new("bash")
        .args([
            "-c",
            "\"$0\" log tail -n 5000 2>&1 | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}",
        ])
        .arg(damper_tests::damper())
        .env("DAMPER_HOME", host.home())
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap().trim(), "0");
}

#[test]
fn a_command_of_a_tool_is_told_why_the_controls_refuse_it() {
    let host = Host::start();
    let damper = damper_tests::damper();
    let home = host.home().display();
    for _ in 0..5 {
        let report = host.bash(&format!("DAMPER_HOME={home} {} status", damper.display()));
        let text = report["text"].as_str().unwrap();
        assert!(text.contains("was started by a tool call"), "{report}");
    }
}
