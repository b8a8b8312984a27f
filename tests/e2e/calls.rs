//! Calls, guards and the person who is asked.

use damper_tests::Host;
use serde_json::json;

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
    assert_eq!(
        records[1]["body"]["opinions"][0]["row"],
        "approval-gate"
    );
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
