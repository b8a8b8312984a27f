//! Components that are swapped while calls are made.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use damper_tests::{Host, guest};
use serde_json::{Value, json};

/// How many clients call at once.
const CLIENTS: usize = 16;

/// How many times the component is swapped under them.
const SWAPS: usize = 12;

/// Returns the component of a guest.
fn component(name: &str) -> Vec<u8> {
    fs::read(guest(name)).unwrap()
}

/// Returns the same component with another mark of the same length.
fn marked(component: &[u8], mark: &str) -> Vec<u8> {
    let mut other = component.to_vec();
    let at: Vec<usize> = other
        .windows(6)
        .enumerate()
        .filter_map(|(at, window)| (window == b"mark-a").then_some(at))
        .collect();
    assert!(!at.is_empty(), "the component holds no mark");
    for at in at {
        other[at..at + 6].copy_from_slice(mark.as_bytes());
    }
    other
}

/// Returns where the component of the row under test lies.
fn file(host: &Host) -> PathBuf {
    host.work().join("plugin.wasm")
}

/// Puts a component in place in one step.
fn put(host: &Host, bytes: &[u8]) {
    let draft = host.work().join(".plugin");
    fs::write(&draft, bytes).unwrap();
    fs::rename(draft, file(host)).unwrap();
}

/// Puts a component in place and waits until the host has told what it makes of it.
fn swap(host: &Host, bytes: &[u8]) -> Value {
    let mut log = host.follow();
    put(host, bytes);
    result_of(&log.until("profile/applied"))
}

fn result_of(applied: &Value) -> Value {
    let mut results = applied["results"].as_array().unwrap().iter();
    let result = results.find(|result| result["row"] == "swapped");
    result.unwrap_or_else(|| panic!("{applied}")).clone()
}

/// Returns a home whose patch inserts a row for a component of its own.
fn home(bytes: &[u8], more: &str) -> Host {
    let host = Host::stopped();
    put(&host, bytes);
    let plugin = file(&host).display().to_string();
    host.write_patch(&format!(
        "- insert:\n  - id: swapped\n    plugin: {plugin}\n{more}"
    ));
    host
}

fn started(bytes: &[u8], more: &str) -> Host {
    let mut host = home(bytes, more);
    host.serve();
    host
}

/// Returns the mark that a call was judged by.
fn mark(report: &Value) -> &'static str {
    assert_eq!(report["ending"], "denied", "{report}");
    let text = report["text"].as_str().unwrap();
    match (text.contains("mark-a"), text.contains("mark-b")) {
        (true, false) => "mark-a",
        (false, true) => "mark-b",
        _ => panic!("neither the one nor the other: {report}"),
    }
}

#[test]
fn no_call_is_lost_or_mixed_while_a_guard_is_swapped() {
    let a = component("mark-guard");
    let b = marked(&a, "mark-b");
    let host = started(&a, "");
    let done = AtomicBool::new(false);
    let reports = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    let report = host.bash("true");
                    reports.lock().unwrap().push(report);
                }
            });
        }
        for turn in 0..SWAPS {
            let (bytes, expected) = if turn % 2 == 0 {
                (&b, "mark-b")
            } else {
                (&a, "mark-a")
            };
            let result = swap(&host, bytes);
            assert_eq!(result["change"], "updated", "{result}");
            // What was reported is what every later call obeys.
            assert_eq!(mark(&host.bash("true")), expected);
            assert_eq!(host.row("swapped")["digest_running"], result["digest"]);
        }
        done.store(true, Ordering::SeqCst);
    });
    let reports = reports.into_inner().unwrap();
    assert!(reports.len() >= CLIENTS);
    for report in &reports {
        let mark = mark(report);
        let records = host.explain(report["call"].as_str().unwrap());
        let decided = records
            .iter()
            .find(|record| record["kind"] == "call/decided")
            .unwrap();
        let opinions = decided["body"]["opinions"].as_array().unwrap();
        let opinion = opinions
            .iter()
            .find(|opinion| opinion["row"] == "swapped")
            .unwrap();
        assert_eq!(opinion["rules"], json!([mark]), "{report}");
    }
}

#[test]
fn a_corrupt_component_is_rejected_and_the_old_one_serves() {
    let a = component("mark-guard");
    let host = started(&a, "");
    let running = host.row("swapped")["digest_running"].clone();
    // So many that some are in code, wherever that lies.
    let mut flipped = a.clone();
    for at in (64..a.len()).step_by(a.len() / 64) {
        flipped[at] ^= 0xff;
    }
    let corrupt: [(&str, &[u8]); 5] = [
        ("truncated", &a[..a.len() / 2]),
        ("empty", b""),
        ("garbage", b"not a component at all"),
        ("core module", b"\0asm\x01\0\0\0"),
        ("flipped", &flipped),
    ];
    for (what, bytes) in corrupt {
        let result = swap(&host, bytes);
        assert_eq!(result["change"], "rejected", "{what}: {result}");
        assert_eq!(result["digest"], running, "{what}");
        let row = host.row("swapped");
        assert_eq!(row["state"], "running-last-good", "{what}: {row}");
        assert_eq!(row["reason"], result["reason"]);
        assert_eq!(row["digest_running"], running);
        assert_ne!(row["digest_on_disk"], running);
        assert_eq!(mark(&host.bash("true")), "mark-a", "{what}");
    }
    let result = swap(&host, &marked(&a, "mark-b"));
    assert_eq!(result["change"], "updated", "{result}");
    assert_eq!(mark(&host.bash("true")), "mark-b");
}

#[test]
fn a_cold_start_on_a_corrupt_component_runs_the_last_good_and_says_so() {
    let mut host = started(&component("mark-guard"), "");
    let running = host.row("swapped")["digest_running"].clone();
    host.kill();
    for bytes in [&b"garbage"[..], b""] {
        put(&host, bytes);
        host.serve();
        let row = host.row("swapped");
        assert_eq!(row["state"], "running-last-good", "{row}");
        assert_eq!(row["digest_running"], running);
        assert!(
            row["reason"].as_str().unwrap().contains("plugin.wasm"),
            "{row}"
        );
        assert_eq!(mark(&host.bash("true")), "mark-a");
        host.kill();
    }
    fs::remove_file(file(&host)).unwrap();
    host.serve();
    assert_eq!(host.row("swapped")["state"], "running-last-good");
    assert_eq!(mark(&host.bash("true")), "mark-a");
}

#[test]
fn a_guard_that_was_never_there_votes_and_runs_as_soon_as_it_is() {
    let a = component("mark-guard");
    let mut host = home(&a, "");
    fs::remove_file(file(&host)).unwrap();
    host.serve();
    let row = host.row("swapped");
    assert_eq!(row["state"], "failed", "{row}");
    assert_eq!(row["vote"], "ask");
    let report = host.bash("true");
    assert_eq!(report["ending"], "denied", "{report}");
    let text = report["text"].as_str().unwrap();
    assert!(text.contains("the guard `swapped` does not run"), "{text}");
    assert!(text.contains("plugin.wasm"), "{text}");

    let result = swap(&host, &a);
    assert_eq!(result["change"], "updated", "{result}");
    assert_eq!(mark(&host.bash("true")), "mark-a");
}

#[test]
fn a_guard_that_is_switched_on_and_cannot_run_votes() {
    let mut host = home(b"garbage", "    disabled: true\n");
    host.serve();
    assert_eq!(host.bash("true")["ending"], "completed");
    let on = host.damper(&["row", "enable", "swapped"]);
    assert_ne!(on.code, 0, "{on:?}");
    assert_eq!(host.row("swapped")["state"], "failed");
    assert_eq!(host.bash("true")["ending"], "denied");
}

#[test]
fn a_pinned_row_runs_no_other_component() {
    let a = component("mark-guard");
    let host = started(&a, "");
    let digest = host.row("swapped")["digest_running"].clone();
    let digest = digest.as_str().unwrap();
    let plugin = file(&host).display().to_string();
    host.edit(&format!(
        "- insert:\n  - id: swapped\n    plugin: {plugin}\n    digest: {digest}\n"
    ));
    assert_eq!(host.row("swapped")["state"], "running");
    let result = swap(&host, &marked(&a, "mark-b"));
    assert_eq!(result["change"], "rejected", "{result}");
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.contains("but the row pins"), "{reason}");
    assert_eq!(mark(&host.bash("true")), "mark-a");
}

#[test]
fn a_call_in_flight_ends_on_the_version_that_it_began_with() {
    let a = component("slow-tool");
    let limits = "    limits: {guest_time: 60s, wall_time: 60s, host_calls: 1000000000}\n";
    let host = started(&a, limits);
    assert_eq!(host.call("mark", &json!({}))["text"], "mark-a");
    let mut log = host.follow();
    let mut slow = host.spawn_call("spin", &json!({}), &[]);
    log.until("call/started");
    let result = swap(&host, &marked(&a, "mark-b"));
    assert_eq!(result["change"], "updated", "{result}");
    assert_eq!(host.call("mark", &json!({}))["text"], "mark-b");
    assert_eq!(host.status()["calls_in_flight"], 1);
    slow.kill();
}

#[test]
fn a_plugin_of_ones_own_goes_before_a_shipped_one_from_when_it_is_put_in_place() {
    let host = Host::start();
    let shipped = host.row("file-info")["digest_running"].clone();
    let folder = host.home().join("plugins/damper");
    let mut log = host.follow();
    fs::create_dir_all(&folder).unwrap();
    let mut own = fs::read(guest("file-info")).unwrap();
    // A custom section in front of all others gives the same plugin other bytes.
    own.splice(8..8, *b"\0\x02\x01x");
    fs::write(folder.join("file-info.wasm"), own).unwrap();
    log.until("profile/applied");
    assert_ne!(host.row("file-info")["digest_running"], shipped);
}
