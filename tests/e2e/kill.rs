//! A host that is killed between any two records of a call, and what a restart makes of it.
//!
//! The crash point is in the host (`DAMPER_CRASH_AFTER_RECORD`): it dies by SIGKILL right after
//! a commit, before anything that would follow it.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader},
    sync::mpsc,
    thread,
    time::Duration,
};

use damper_tests::{Host, Piped, call_at};
use serde_json::{Value, json};

/// A call that is killed at each of its records.
struct Case {
    tool: &'static str,
    arguments: Value,
    /// Whether somebody watches, and allows.
    watched: bool,
    /// How often it leaves its mark when it runs.
    effects: usize,
    /// Its records, in order, each of which is a place to die after.
    records: &'static [&'static str],
}

const ID: &str = "the-call";
const EARLIER: &str = "an-earlier-call";

#[test]
fn a_command_is_never_run_twice_wherever_the_host_dies() {
    check(&Case {
        tool: "bash",
        arguments: json!({"command": "echo x >> log.txt"}),
        watched: false,
        effects: 1,
        records: &[
            "session/opened",
            "call/received",
            "call/decided",
            "call/started",
            "call/finished",
        ],
    });
}

#[test]
fn an_approved_command_is_never_run_twice_wherever_the_host_dies() {
    check(&Case {
        tool: "bash",
        arguments: json!({"command": "rm -rf build; echo x >> log.txt"}),
        watched: true,
        effects: 1,
        records: &[
            "session/opened",
            "call/received",
            "call/decided",
            "approval/raised",
            "approval/answered",
            "call/started",
            "call/finished",
        ],
    });
}

#[test]
fn a_read_has_an_honest_end_wherever_the_host_dies() {
    check(&Case {
        tool: "read",
        arguments: json!({"file_path": "seen.txt"}),
        watched: false,
        effects: 0,
        records: &[
            "session/opened",
            "call/received",
            "call/decided",
            "call/started",
            "call/finished",
        ],
    });
}

fn check(case: &Case) {
    let before_the_call = records_before_the_call(case);
    for (step, last) in case.records.iter().enumerate() {
        let mut host = host_with_a_past();
        let crash = (before_the_call + step + 1).to_string();
        host.serve_with(&[("DAMPER_CRASH_AFTER_RECORD", &crash)]);
        assert_eq!(call_and_allow(&host, case), None, "after {last}");
        assert_eq!(host.ended(), None, "it dies by a signal, after {last}");
        let effects = effects(&host);
        let ran = if *last == "call/finished" {
            case.effects
        } else {
            0
        };
        assert_eq!(effects, ran, "after {last}");
        host.serve();
        check_restarted(&host, case, last);
        check_repeated(&host, case, last);
        check_the_past(&host);
        let records = host.damper(&["explain", ID, "--json"]).stdout;
        host.kill();
        host.serve();
        assert!(host.status()["recovered"].is_null(), "after {last}");
        assert_eq!(host.damper(&["explain", ID, "--json"]).stdout, records);
    }
}

/// Returns a home that is set up and has one finished call, without a running host.
fn host_with_a_past() -> Host {
    let mut host = Host::stopped();
    host.write_patch("");
    fs::write(host.work().join("seen.txt"), "seen\n").unwrap();
    host.serve();
    let report = call(
        &host,
        "bash",
        &json!({"command": "echo past | tee -a past.txt"}),
        EARLIER,
    );
    assert_eq!(report["ending"], "completed", "{report}");
    host.kill();
    host
}

fn call(host: &Host, tool: &str, arguments: &Value, id: &str) -> Value {
    host.damper(&["call", tool, &arguments.to_string(), "--json", "--id", id])
        .json()
}

/// Makes the call, lets it run if it is asked about, and returns its report, `None` if the
/// host died.
fn call_and_allow(host: &Host, case: &Case) -> Option<Value> {
    let mut watch = case.watched.then(|| attach(host));
    let call = host.spawn_call(case.tool, &case.arguments, &["--id", ID]);
    if let Some(watch) = &mut watch
        && let Some(approval) = raised(watch)
    {
        // The host may die of the answer, which is then not confirmed.
        host.damper(&["approvals", "allow", &approval]);
    }
    let ran = call.output();
    serde_json::from_str(&ran.stdout).ok()
}

fn attach(host: &Host) -> Piped {
    let mut watch = host.spawn(&["approvals", "watch", "--json"]);
    let mut line = String::new();
    watch.stdout.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "\"attached\"");
    watch
}

/// Returns the next question, `None` if the host dies first.
fn raised(watch: &mut Piped) -> Option<String> {
    let mut line = String::new();
    watch.stdout.read_line(&mut line).unwrap();
    let watched: Value = serde_json::from_str(&line).ok()?;
    Some(watched["raised"]["id"].as_str()?.to_owned())
}

fn effects(host: &Host) -> usize {
    lines(host, "log.txt").len()
}

fn lines(host: &Host, file: &str) -> Vec<String> {
    let text = fs::read_to_string(host.work().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns how many records a host writes before the call's first, and checks that the call,
/// left in peace, has the records that the case names.
fn records_before_the_call(case: &Case) -> usize {
    let mut host = host_with_a_past();
    host.serve();
    let report = call_and_allow(&host, case).unwrap();
    assert_eq!(report["ending"], "completed", "{report}");
    assert_eq!(effects(&host), case.effects);
    let tail = host.damper(&["log", "tail", "-n", "1000", "--json"]).stdout;
    let kinds: Vec<String> = tail
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|record| record["kind"].as_str().unwrap().to_owned())
        .collect();
    let start = kinds
        .iter()
        .rposition(|kind| kind == "host/started")
        .unwrap();
    let since_start = &kinds[start..];
    let before = since_start.len() - case.records.len();
    assert_eq!(since_start[before..], *case.records);
    before
}

/// What the call's caller and the operator find after a restart.
fn check_restarted(host: &Host, case: &Case, last: &str) {
    let recovered = host.status()["recovered"].clone();
    let waiting = host.damper(&["approvals", "list", "--json"]).json();
    assert_eq!(waiting, json!([]), "after {last}");
    let Some(ending) = ending_after(last) else {
        assert_eq!(host.damper(&["explain", ID]).code, 6, "it never arrived");
        assert!(recovered.is_null());
        return;
    };
    let records = host.explain(ID);
    let kinds: Vec<&str> = records
        .iter()
        .map(|record| record["kind"].as_str().unwrap())
        .collect();
    let ends = kinds
        .iter()
        .filter(|kind| **kind == "call/finished")
        .count();
    assert_eq!(ends, 1, "{kinds:?}");
    assert_eq!(kinds.last(), Some(&"call/finished"));
    assert_eq!(
        kinds.contains(&"approval/raised"),
        kinds.contains(&"approval/answered"),
        "{kinds:?}"
    );
    assert_eq!(records.last().unwrap()["body"]["ending"], ending);
    if last == "call/finished" {
        assert!(recovered.is_null(), "{recovered}");
        return;
    }
    let listed = recovered.as_array().unwrap();
    assert_eq!(listed.len(), 1, "{recovered}");
    assert_eq!(listed[0]["call"], ID);
    assert_eq!(listed[0]["ending"], ending);
    let started = match (last, case.effects) {
        ("call/started", 0) => json!("none"),
        ("call/started", _) => json!("once"),
        _ => Value::Null,
    };
    assert_eq!(listed[0]["started"], started);
}

/// What a second call with the same id is told, and that it does not run again.
fn check_repeated(host: &Host, case: &Case, last: &str) {
    let before = effects(host);
    if ending_after(last).is_none() {
        // Nothing of the first call is known, so that this is the first.
        let report = call_and_allow(host, case).unwrap();
        assert_eq!(report["ending"], "completed", "{report}");
        assert_eq!(effects(host), case.effects);
        return;
    }
    let report = call(host, case.tool, &case.arguments, ID);
    assert_eq!(report["ending"], ending_after(last).unwrap(), "{report}");
    assert_eq!(effects(host), before, "after {last}: {report}");
    let told = report["text"].as_str().unwrap();
    let expected = match (last, case.effects) {
        ("call/finished", 0) => "seen",
        ("call/finished", _) => "",
        ("call/started", 0) => "safe to repeat",
        ("call/started", _) => "not safe to repeat",
        _ => "nothing was done",
    };
    assert!(told.contains(expected), "after {last}: {told}");
}

fn ending_after(last: &str) -> Option<&'static str> {
    match last {
        "session/opened" => None,
        "call/started" => Some("unknown"),
        "call/finished" => Some("completed"),
        _ => Some("cancelled"),
    }
}

/// A call that had finished is still there, and still not run again.
fn check_the_past(host: &Host) {
    let report = call(host, "bash", &json!({"command": "echo again"}), EARLIER);
    assert_eq!(report["ending"], "completed", "{report}");
    assert!(
        report["text"].as_str().unwrap().contains("past"),
        "{report}"
    );
    assert_eq!(lines(host, "past.txt"), ["past"]);
    let records = host.explain(EARLIER);
    assert_eq!(records.last().unwrap()["kind"], "call/finished");
}

#[test]
fn a_kill_of_the_host_ends_the_command_it_runs() {
    let mut host = Host::start();
    let pipe = host.work().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    // The pipe ends when the last process that has it open is gone.
    let command = "echo x >> log.txt; exec 3> pipe; echo runs >&3; sleep 3600 & sleep 3600";
    let call = host.spawn_call("bash", &json!({"command": command}), &["--id", ID]);
    let mut running = BufReader::new(fs::File::open(&pipe).unwrap());
    let mut line = String::new();
    running.read_line(&mut line).unwrap();
    assert_eq!(line, "runs\n");
    host.kill();
    let (gone, is_gone) = mpsc::channel();
    thread::spawn(move || gone.send(running.read_line(&mut line).unwrap()));
    let left = is_gone.recv_timeout(Duration::from_secs(60));
    assert_eq!(left, Ok(0), "a process outlived its host");
    assert_eq!(call.output().stdout, "", "nothing was answered");

    host.serve();
    for _ in 0..2 {
        let report = self::call(&host, "bash", &json!({"command": command}), ID);
        assert_eq!(report["ending"], "unknown", "{report}");
    }
    assert_eq!(effects(&host), 1);
}

/// How many clients call at once.
const CLIENTS: usize = 8;

/// How many answers are awaited before the kill.
const ANSWERS: usize = 60;

#[test]
fn every_answered_call_of_many_clients_is_on_record_after_a_kill() {
    let mut host = Host::start();
    let socket = host.socket();
    let work = host.work().to_owned();
    let (answered, answers) = mpsc::channel();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (socket, work, answered) = (socket.clone(), work.clone(), answered.clone());
            thread::spawn(move || {
                for turn in 0.. {
                    let id = format!("client-{client}-call-{turn}");
                    let arguments = json!({"command": format!("echo {id} | tee -a log.txt")});
                    match call_at(&socket, &work, "bash", &arguments, &id) {
                        Some(report) => answered.send((id, report)).unwrap(),
                        None => return,
                    }
                }
            })
        })
        .collect();
    drop(answered);
    let mut told: Vec<(String, Value)> = answers.iter().take(ANSWERS).collect();
    host.kill();
    told.extend(answers.iter());
    for client in clients {
        client.join().unwrap();
    }

    host.serve();
    let status = host.status();
    let effects = lines(&host, "log.txt");
    let once: BTreeSet<&String> = effects.iter().collect();
    assert_eq!(once.len(), effects.len(), "a command ran twice");
    let socket = host.socket();
    for (id, report) in &told {
        assert_eq!(report["ending"], "completed", "{report}");
        assert!(once.contains(id), "{id} was answered and did not run");
        let again = call_at(&socket, &work, "bash", &json!({"command": "false"}), id).unwrap();
        assert_eq!(again, *report);
    }
    let answered: BTreeSet<&String> = told.iter().map(|(id, _report)| id).collect();
    for id in once.difference(&answered) {
        let records = host.explain(id);
        let started = records
            .iter()
            .any(|record| record["kind"] == "call/started");
        assert!(started, "{id} had an effect without a record");
        assert_eq!(records.last().unwrap()["kind"], "call/finished");
    }
    let recovered = status["recovered"].as_array().map_or(0, Vec::len);
    assert!(recovered <= CLIENTS, "{status}");
}
