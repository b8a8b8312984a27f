//! Guests of other versions of the contract: old ones always run, newer ones as far as this host
//! has what they use.

use std::{fs, path::PathBuf};

use damper_tests::{Host, guest, root};
use serde_json::json;

use crate::modes::Agent;

fn kept(name: &str) -> PathBuf {
    root().join("tests/gallery/1.0.0").join(name)
}

/// Returns a patch with a row for each file.
fn rows(rows: &[(&str, PathBuf)]) -> String {
    let rows = rows.iter().map(|(id, file)| {
        let limits = "{guest_time: 30s, wall_time: 1m}";
        format!(
            "    - {{id: {id}, plugin: {}, limits: {limits}}}\n",
            file.display()
        )
    });
    format!("- insert:\n{}", rows.collect::<String>())
}

#[test]
fn guests_of_the_first_contract_run() {
    let host = Host::with_patch(&rows(&[
        ("guard", kept("guard.wasm")),
        ("tool", kept("tool.wasm")),
        ("hooks", kept("hooks.wasm")),
    ]));
    for row in ["guard", "tool", "hooks"] {
        assert_eq!(host.row(row)["state"], "running", "{}", host.row(row));
    }
    let mut agent = Agent::in_mode(&host, "hooks");
    let instructions = agent.hello["result"]["instructions"].to_string();
    for said in ["this was replaced", "this was a welcome"] {
        assert!(instructions.contains(said), "{instructions}");
    }
    let tools = agent.tools();
    assert!(
        tools.contains(&"mark".to_owned()) && !tools.contains(&"grep".to_owned()),
        "{tools:?}"
    );
    assert!(agent.call("mark", &json!({})).starts_with("mark-"));
    assert!(
        agent
            .call("bash", &json!({"command": "echo NOTE"}))
            .contains("this was noted")
    );
    assert_eq!(host.row("guard")["counters"]["allow"], 2);
    let denied = host.bash("rm -rf everything");
    assert!(
        denied["text"]
            .as_str()
            .unwrap()
            .contains("this was routed to nobody"),
        "{denied}"
    );
}

/// Returns a guest as if it had been made for a newer minor of the contract.
fn of_a_newer_minor(name: &str) -> Vec<u8> {
    replaced(&fs::read(guest(name)).unwrap(), "@1.0.0", "@1.9.0")
}

/// Returns the bytes with each place of a text overwritten by another of the same length.
fn replaced(bytes: &[u8], old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut changed = bytes.to_vec();
    let places = bytes.windows(old.len()).enumerate();
    let mut count = 0;
    for (at, _window) in places.filter(|(_at, window)| *window == old.as_bytes()) {
        changed[at..at + new.len()].copy_from_slice(new.as_bytes());
        count += 1;
    }
    assert!(count > 0, "there is no `{old}`");
    changed
}

#[test]
fn a_newer_guest_runs_if_it_uses_nothing_new() {
    let host = Host::stopped();
    let file = host.work().join("newer.wasm");
    fs::write(&file, of_a_newer_minor("mark-guard")).unwrap();
    host.write_patch(&rows(&[("newer", file)]));
    let mut host = host;
    host.serve();
    assert_eq!(
        host.row("newer")["state"],
        "running",
        "{}",
        host.row("newer")
    );
    let asked = host.bash("true");
    assert_eq!(host.row("newer")["counters"]["calls"], 1, "{asked}");
}

#[test]
fn a_guest_that_is_too_new_is_refused_by_the_name_of_what_it_lacks() {
    let mut host = Host::stopped();
    let newer = of_a_newer_minor("approval-gate");
    let file = host.work().join("too-new.wasm");
    fs::write(
        &file,
        replaced(&newer, "[method]call.cwd", "[method]call.age"),
    )
    .unwrap();
    host.write_patch(&rows(&[("newer", file.clone())]));
    host.serve();
    let row = host.row("newer");
    assert_eq!(row["state"], "failed", "{row}");
    let reason = row["reason"].as_str().unwrap();
    assert!(reason.contains("[method]call.age"), "{reason}");
    assert!(reason.contains("plugin contract 1.0.0"), "{reason}");
    let checked = host.damper(&["plugin", "check", &file.display().to_string()]);
    assert_eq!(checked.code, 5, "{checked:?}");
    assert!(checked.stdout.contains("call.age"), "{checked:?}");
}
