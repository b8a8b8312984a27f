//! Every hook but guard and tool, in a running host: what a good answer does, and that a bad one
//! ends as the table of hooks says, counted and on record.

use std::{path::Path, sync::Arc};

use damper_call::{Delivery, Door, Mail, Session, SessionId};
use damper_dispatch::{Captured, Components, Dispatcher, Fallback, Machinery, prepare};
use damper_journal::Journal;
use damper_profile::{PluginRef, Source, compose};
use damper_tests::{Host, damper, guest};
use damper_wasm::{Ceilings, CompilerCommand, Runtime, RuntimeSettings};
use serde_json::{Value, json};

use crate::modes::Agent;

/// How a hook goes wrong, and what every message about it says.
const FAULTS: [(&str, &str); 4] = [
    ("loop", "hit the guest time limit of 300 ms"),
    ("trap", "hostile-hooks panics on purpose"),
    ("exit", "called exit(0) instead of answering"),
    ("memory", "hit the memory limit of 64 MiB"),
];

/// Returns a patch with the plugin of all hooks, `fails` being the one that goes wrong.
fn hooks(fails: &str, how: &str) -> String {
    let fails = match fails {
        "" => String::new(),
        fails => format!(", config: {{fails: {fails}, how: {how}}}"),
    };
    // Only what loops is to run out of time, however busy the machine is.
    let time = if how == "loop" { "300ms" } else { "30s" };
    format!(
        "- insert:\n    - {{id: hooks, plugin: {}{fails}, limits: {{guest_time: {time}, wall_time: 1m}}}}\n",
        guest("hostile-hooks").display()
    )
}

/// Returns all records of a kind.
fn records(host: &Host, kind: &str) -> Vec<Value> {
    let told = host.damper(&["log", "tail", "-n", "1000", "--json"]);
    told.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["kind"] == kind)
        .collect()
}

/// Checks that a hook's failure is on record and counted, and that other calls are served.
#[track_caller]
fn check_failed(host: &Host, hook: &str, named: &str) {
    let failed = records(host, "guest/failed");
    let record = failed
        .iter()
        .find(|record| record["body"]["hook"] == hook)
        .unwrap_or_else(|| panic!("no record of a failed {hook}: {failed:?}"));
    let body = &record["body"];
    assert!(body["failure"].as_str().unwrap().contains(named), "{body}");
    assert_eq!(body["plugin"], "test/hostile-hooks");
    assert!(
        body["input_digest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    let counted = host.row("hooks")["counters"]["failures"].clone();
    let times: u64 = counted
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert!(times > 0, "{counted}");
    assert_eq!(
        host.call("read", &json!({"file_path": "file"}))["ending"],
        "completed"
    );
}

fn started(patch: &str) -> Host {
    let host = Host::with_patch(patch);
    std::fs::write(host.work().join("file"), "NOTE this").unwrap();
    host
}

fn told(agent: &Agent) -> String {
    agent.hello["result"]["instructions"].to_string()
}

#[test]
fn good_answers_count() {
    let host = started(&hooks("", ""));
    let mut agent = Agent::in_mode(&host, "hooks");
    let instructions = told(&agent);
    for expected in [
        "this was replaced",
        "this was a welcome",
        "is writable",
        "`sh` is `",
    ] {
        assert!(
            instructions.contains(expected),
            "{expected}: {instructions}"
        );
    }
    assert!(
        !instructions.contains("this was composed"),
        "{instructions}"
    );
    assert_eq!(agent.tools(), ["bash", "file_info", "read"]);

    let noted = host.bash("echo NOTE");
    let text = noted["text"].as_str().unwrap();
    assert!(text.starts_with("NOTE\n"), "{text}");
    assert!(
        text.ends_with("\n\nNotes by Damper:\n[hooks] this was noted"),
        "{text}"
    );
    let arguments = json!({"command": "echo WITHHOLD me"}).to_string();
    let withheld = || {
        host.damper(&["call", "bash", &arguments, "--id", "held", "--json"])
            .json()
    };
    let first = withheld();
    assert_eq!(first["is_error"], true);
    let text = first["text"].as_str().unwrap();
    assert!(
        text.contains("[hooks] this was withheld") && !text.contains("me"),
        "{text}"
    );
    assert_eq!(withheld(), first, "the record answers the same");
    let finished = records(&host, "call/finished");
    let kept = finished
        .iter()
        .find(|record| record["body"]["call"] == "held")
        .unwrap();
    assert!(
        kept["body"]["text"]
            .as_str()
            .unwrap()
            .contains("WITHHOLD me"),
        "{kept}"
    );

    let mut watching = host.watch_approvals();
    let denied = host.bash("rm -rf everything");
    assert_eq!(denied["ending"], "denied");
    assert!(
        denied["text"]
            .as_str()
            .unwrap()
            .contains("this was routed to nobody"),
        "{denied}"
    );
    host.edit(&format!("{}- id: hooks\n  disabled: true\n", hooks("", "")));
    let asked = host.spawn_call("bash", &json!({"command": "rm -rf everything"}), &[]);
    let raised = watching.raised();
    host.damper(&["approvals", "deny", raised["id"].as_str().unwrap()]);
    assert_ne!(asked.output().code, 0);
}

#[test]
fn a_mode_whose_preset_fails_cannot_run() {
    for (fails, hook, nonsense) in [
        (
            "describe",
            "preset.describe",
            "a mode's name has 1 to 80 bytes",
        ),
        ("compose", "preset.compose", "the tool name"),
    ] {
        for (how, named) in FAULTS.into_iter().chain([("nonsense", nonsense)]) {
            let host = started(&hooks(fails, how));
            let modes = host.damper(&["modes", "--json"]).json();
            let mode = modes
                .as_array()
                .unwrap()
                .iter()
                .find(|mode| mode["id"] == "hooks")
                .unwrap();
            assert!(
                mode["cannot_run"].as_str().unwrap().contains(named),
                "{mode}"
            );
            let refused = host.damper(&["mcp", "--mode", "hooks"]);
            assert_eq!(refused.code, 5, "{refused:?}");
            assert!(refused.stderr.contains(named), "{refused:?}");
            check_failed(&host, hook, named);
        }
    }
}

#[test]
fn a_session_opens_without_the_persona_that_fails() {
    for (how, named) in FAULTS.into_iter().chain([("nonsense", "the section id")]) {
        let host = started(&hooks("persona", how));
        let instructions = told(&Agent::in_mode(&host, "hooks"));
        assert!(instructions.contains("this was composed"), "{instructions}");
        assert!(
            !instructions.contains("this was replaced"),
            "{instructions}"
        );
        check_failed(&host, "persona.sections", named);
    }
}

#[test]
fn a_session_opens_without_the_welcome_that_fails() {
    for (how, named) in FAULTS
        .into_iter()
        .chain([("nonsense", "more than 16 notices")])
    {
        let host = started(&hooks("session", how));
        let instructions = told(&Agent::in_mode(&host, "hooks"));
        assert!(!instructions.contains("again and again"), "{instructions}");
        check_failed(&host, "session.opened", named);
    }
}

#[test]
fn an_answer_stays_when_its_review_fails() {
    let nonsense = ("nonsense", "a withheld answer without a text");
    for (how, named) in FAULTS.into_iter().chain([nonsense]) {
        let host = started(&hooks("result", how));
        let answer = host.bash("echo WITHHOLD");
        assert!(
            answer["text"].as_str().unwrap().starts_with("WITHHOLD\n"),
            "{how}: {answer}"
        );
        assert_eq!(answer["is_error"], false);
        check_failed(&host, "result.review", named);
    }
}

#[test]
fn the_default_path_is_taken_when_routing_fails() {
    let nonsense = ("nonsense", "a refusal without a reason");
    for (how, named) in FAULTS.into_iter().chain([nonsense]) {
        let host = started(&hooks("approval", how));
        let denied = host.bash("rm -rf everything");
        assert_eq!(denied["ending"], "denied");
        let text = denied["text"].as_str().unwrap();
        assert!(text.contains("This needs a person's approval"), "{text}");
        check_failed(&host, "approval.route", named);
    }
}

#[test]
fn the_last_good_answer_holds_when_withholding_fails() {
    for (how, named) in FAULTS {
        let patch = hooks("catalogue", &format!("{how}, well: 2"));
        let patch = match how {
            "loop" => patch.replace("guest_time: 30s", "guest_time: 300ms"),
            _ => patch,
        };
        let host = started(&patch);
        let mut agent = Agent::in_mode(&host, "hooks");
        for _ in 0..4 {
            assert_eq!(agent.tools(), ["bash", "file_info", "read"], "{how}");
        }
        check_failed(&host, "catalogue.withhold", named);
        // Another session never had a good answer once the patience is used up.
        let never = hooks("catalogue", how);
        host.edit(&never);
        let mut other = Agent::in_mode(&host, "hooks");
        assert_eq!(
            other.tools(),
            ["bash", "file_info", "grep", "read"],
            "{how}"
        );
    }
}

/// A host without doors, for what no door does yet.
async fn within(patch: &str) -> (tempfile::TempDir, Arc<Runtime>, Dispatcher) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::start(RuntimeSettings {
        cache: folder.path().join("cache"),
        host_key: [7; 32],
        compiler: CompilerCommand {
            program: damper(),
            arguments: vec!["__compile".into()],
        },
        ceilings: Ceilings::default(),
        hidden: Vec::new(),
    });
    let runtime = Arc::new(runtime.unwrap());
    let journal = Journal::in_memory().unwrap();
    let machinery = Machinery::new(Arc::clone(&runtime), journal, Vec::new(), None);
    let dispatcher = Dispatcher::new(machinery);
    let text = format!("name: test\nrows:\n{}", patch.replace("- insert:\n", ""));
    let source = Source::at(Path::new("/test.yaml"), text.as_bytes());
    let composition = compose(&source, &[]).unwrap();
    let path = guest("hostile-hooks");
    let bytes: Arc<[u8]> = std::fs::read(&path).unwrap().into();
    let captured = Captured {
        digest: Runtime::digest(&bytes),
        path: path.clone(),
        bytes: Some(bytes),
    };
    let components = Components([(PluginRef::File(path), Ok(captured))].into());
    let previous = dispatcher.current();
    let fallback = Fallback::default();
    let prepared = prepare(&runtime, &previous, &composition, &components, &fallback).await;
    dispatcher.install(prepared.generation);
    (folder, runtime, dispatcher)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_delivered_when_its_hook_fails() {
    let cases = FAULTS.into_iter().chain([("", "")]);
    for (how, named) in cases {
        let fails = if how.is_empty() { "" } else { "message" };
        let (_folder, runtime, dispatcher) = within(&hooks(fails, how)).await;
        let session = || {
            let session = Session::external(SessionId::unique(), Door::Cli, None, "/".into());
            Arc::new(session)
        };
        let mail = Arc::new(Mail {
            sender: session(),
            recipient: session(),
            text: "stop".into(),
            recipient_is_busy: true,
        });
        let expected = match how {
            "" => Delivery::InterruptFirst,
            _ => Delivery::Deliver,
        };
        assert_eq!(dispatcher.delivery(&mail).await, expected, "{how}");
        let records = dispatcher.journal().records(0, 100).await.unwrap();
        let told = serde_json::to_string(&records).unwrap();
        match how {
            "" => assert!(told.contains("interrupt-first"), "{told}"),
            _ => assert!(
                told.contains(named) && told.contains("message.before-send"),
                "{told}"
            ),
        }
        drop(runtime);
    }
}
