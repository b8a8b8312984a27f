//! The profile that is edited while calls are made.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::symlink,
};

use damper_tests::Host;
use serde_json::{Value, json};

const GATE_OFF: &str = "- id: approval-gate\n  disabled: true\n";

/// Returns whether `rm -rf` runs unasked, as it does without the gate.
fn runs_unasked(host: &Host) -> bool {
    let report = host.bash("mkdir -p build && rm -rf build");
    match report["ending"].as_str() {
        Some("completed") => true,
        Some("denied") => false,
        _ => panic!("{report}"),
    }
}

/// Returns what became of a row.
fn result_of<'a>(applied: &'a Value, row: &str) -> &'a Value {
    let mut results = applied["results"].as_array().unwrap().iter();
    results
        .find(|result| result["row"] == row)
        .unwrap_or_else(|| panic!("no row `{row}` in {applied}"))
}

/// Returns the problems that status tells, a line each.
fn problems(host: &Host) -> String {
    let status = host.status();
    let problems = status["problems"].as_array().unwrap().iter();
    problems
        .map(|problem| problem["text"].as_str().unwrap().to_owned() + "\n")
        .collect()
}

/// Returns how messages name a place in the user's patch.
fn place(host: &Host, line_and_column: &str) -> String {
    format!("{}:{line_and_column}: ", host.patch_file().display())
}

#[test]
fn a_row_is_switched_by_command_and_the_next_call_obeys() {
    let host = Host::with_patch("# mine\n- id: file-info # a note\n  disabled: false\n# the end\n");
    assert!(!runs_unasked(&host));
    let off = host.damper(&["row", "disable", "approval-gate"]);
    assert_eq!(off.code, 0, "{off:?}");
    assert!(runs_unasked(&host));
    assert_eq!(host.row("approval-gate")["state"], "disabled");
    let on = host.damper(&["row", "enable", "approval-gate"]);
    assert_eq!(on.code, 0, "{on:?}");
    assert!(!runs_unasked(&host));
    let patch = fs::read_to_string(host.patch_file()).unwrap();
    for comment in ["# mine\n", "# a note\n", "# the end\n"] {
        assert!(patch.contains(comment), "{patch}");
    }
}

#[test]
fn a_row_is_switched_by_hand_and_the_next_call_obeys() {
    let host = Host::start();
    assert!(!runs_unasked(&host));
    let applied = host.edit(GATE_OFF);
    assert_eq!(result_of(&applied, "approval-gate")["change"], "updated");
    assert!(runs_unasked(&host));
    host.edit("");
    assert!(!runs_unasked(&host));
}

#[test]
fn a_half_written_patch_is_never_applied() {
    let host = Host::with_patch("- id: file-info\n  disabled: true\n");
    let mut log = host.follow();
    let mut file = OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(host.patch_file())
        .unwrap();
    // This half reads, and would open the gate; what follows takes it back.
    file.write_all(GATE_OFF.as_bytes()).unwrap();
    assert!(!runs_unasked(&host));
    file.write_all(b"- id: approval-gate\n  disabled: false\n")
        .unwrap();
    drop(file);
    let applied = log.until("profile/applied");
    assert_eq!(result_of(&applied, "file-info")["change"], "updated");
    assert_ne!(host.row("approval-gate")["state"], "disabled");
    assert!(!runs_unasked(&host));
}

#[test]
fn a_broken_patch_changes_nothing_and_is_told_with_its_place() {
    let host = Host::with_patch(GATE_OFF);
    let before = host.status();
    let applied = host.edit("- id: approval-gate\n  disabled: [\n");
    assert_eq!(applied["generation"], before["generation"]);
    assert!(runs_unasked(&host));
    let told = problems(&host);
    assert!(told.starts_with(&place(&host, "3:1")), "{told}");
    assert!(host.damper(&["status"]).stdout.contains(told.trim()));
    let layers = host.status()["layers"].clone();
    assert_eq!(layers[1]["applied"], false, "{layers}");
    let refused = host.damper(&["row", "enable", "approval-gate"]);
    assert_eq!(refused.code, 1, "{refused:?}");

    host.edit("");
    assert!(!runs_unasked(&host));
    assert_eq!(problems(&host), "");
}

#[test]
fn a_refused_entry_leaves_its_row_as_it_runs() {
    let host = Host::with_patch(GATE_OFF);
    let cases = [
        (
            "- id: approval-gat\n  disabled: false\n",
            "1:",
            "did you mean `approval-gate`?",
        ),
        (
            "- id: approval-gate\n  disable: false\n",
            "2:3",
            "did you mean `disabled`?",
        ),
        (
            "- id: approval-gate\n  on_failure: nod\n",
            "2:15",
            "on_failure",
        ),
    ];
    for (entry, line_and_column, told) in cases {
        let patch = format!("{entry}- id: file-info\n  disabled: true\n");
        host.edit(&patch);
        let problems = problems(&host);
        assert!(
            problems.contains(&format!(
                "{}:{line_and_column}",
                host.patch_file().display()
            )),
            "{problems}"
        );
        assert!(problems.contains(told), "{told}: {problems}");
        // The rest of the patch applies.
        assert_eq!(host.row("file-info")["state"], "disabled");
        if line_and_column != "1:" {
            assert!(runs_unasked(&host), "{patch}");
        }
        host.edit(GATE_OFF);
    }
}

#[test]
fn settings_that_the_plugin_refuses_are_told_with_their_place() {
    let host = Host::start();
    for (settings, line_and_column) in [("shell_tools: bash", "3:5"), ("clasify: false", "3:5")] {
        let applied = host.edit(&format!("- id: approval-gate\n  config:\n    {settings}\n"));
        let result = result_of(&applied, "approval-gate");
        assert_eq!(result["change"], "rejected", "{applied}");
        let reason = result["reason"].as_str().unwrap();
        let place = format!("{}:{line_and_column}", host.patch_file().display());
        assert!(reason.contains(&place), "{place}: {reason}");
        let row = host.row("approval-gate");
        assert_eq!(row["state"], "running-last-good");
        assert_eq!(row["reason"], reason);
        assert!(!runs_unasked(&host));
    }
    host.edit("- id: approval-gate\n  config: {classify: false}\n");
    assert_eq!(host.row("approval-gate")["state"], "running");
    assert!(runs_unasked(&host));
}

#[test]
fn ten_saves_by_an_editor_end_in_the_last() {
    let host = Host::start();
    let mut log = host.follow();
    for save in 0..10 {
        host.write_patch(&format!(
            "# {save}\n- id: approval-gate\n  disabled: {}\n",
            save == 9
        ));
    }
    loop {
        let applied = log.until("profile/applied");
        if result_of(&applied, "approval-gate")["change"] == "updated" {
            break;
        }
    }
    assert!(runs_unasked(&host));
}

#[test]
fn a_patch_behind_a_link_is_followed_to_its_new_target() {
    let host = Host::stopped();
    let (one, other) = (host.work().join("one.yaml"), host.work().join("other.yaml"));
    fs::write(&one, "").unwrap();
    fs::write(&other, GATE_OFF).unwrap();
    symlink(&one, host.patch_file()).unwrap();
    let mut host = host;
    host.serve();
    assert!(!runs_unasked(&host));

    let mut log = host.follow();
    let draft = host.home().join("profiles/.link");
    symlink(&other, &draft).unwrap();
    fs::rename(draft, host.patch_file()).unwrap();
    log.until("profile/applied");
    assert!(runs_unasked(&host));

    fs::write(&other, "").unwrap();
    log.until("profile/applied");
    assert!(!runs_unasked(&host));

    let off = host.damper(&["row", "disable", "approval-gate"]);
    assert_eq!(off.code, 0, "{off:?}");
    assert!(host.patch_file().is_symlink());
    assert!(runs_unasked(&host));
}

#[test]
fn a_patch_that_goes_takes_its_edits_with_it_and_brings_them_back() {
    let host = Host::with_patch(GATE_OFF);
    let mut log = host.follow();
    fs::remove_file(host.patch_file()).unwrap();
    log.until("profile/applied");
    assert!(!runs_unasked(&host));
    host.write_patch(GATE_OFF);
    log.until("profile/applied");
    assert!(runs_unasked(&host));
}

#[test]
fn an_identical_patch_makes_no_generation() {
    let host = Host::with_patch(GATE_OFF);
    let before = host.status()["generation"].as_u64().unwrap();
    host.write_patch(&format!("# the same\n{GATE_OFF}"));
    host.write_patch(GATE_OFF);
    let applied = host.edit("");
    assert_eq!(applied["generation"], before + 1, "{applied}");
}

#[test]
fn every_limit_of_a_row_shows_in_status() {
    let host = Host::start();
    host.edit(
        "- id: approval-gate\n  limits: {memory: 32MiB, guest_time: 90ms, wall_time: 3s, answer: 1KiB, log: 2KiB, host_calls: 7, arguments: 4KiB, state: 5KiB}\n",
    );
    assert_eq!(
        host.row("approval-gate")["limits"],
        json!({"memory": "32MiB", "guest_time": "90ms", "wall_time": "3s", "answer": "1KiB",
            "log": "2KiB", "host_calls": 7, "arguments": "4KiB", "state": "5KiB"})
    );
    let applied = host.edit("- id: approval-gate\n  limits:\n    memory: 257MiB\n");
    let reason = result_of(&applied, "approval-gate")["reason"]
        .as_str()
        .unwrap();
    assert!(reason.contains(&place(&host, "3:5")), "{reason}");
    assert!(reason.contains("ceiling"), "{reason}");
    assert_eq!(host.row("approval-gate")["limits"]["memory"], "32MiB");
}

#[test]
fn profile_show_names_the_line_that_set_each_key() {
    let host = Host::with_patch("- id: approval-gate\n  on_failure: deny\n");
    let shown = host.damper(&["profile", "show"]).stdout;
    let patch = host.patch_file().display().to_string();
    assert!(
        shown.contains(&format!("on_failure: deny  # {patch}:2")),
        "{shown}"
    );
    assert!(shown.contains("default.yaml:"), "{shown}");
}

#[test]
fn a_cold_start_on_a_broken_patch_runs_the_last_good_and_says_so() {
    let mut host = Host::with_patch(GATE_OFF);
    host.kill();
    host.write_patch("- id: [\n");
    host.serve();
    assert!(runs_unasked(&host));
    let told = problems(&host);
    assert!(told.contains(&place(&host, "2:1")), "{told}");
    assert!(told.contains("last good"), "{told}");
    host.edit("");
    assert!(!runs_unasked(&host));
}

#[test]
#[cfg(unix)]
fn a_patch_that_is_no_regular_file_is_refused_and_holds_nothing_up() {
    let host = Host::start();
    let mut log = host.follow();
    let made = std::process::Command::new("mkfifo")
        .arg(host.home().join("profiles/pipe"))
        .status();
    assert!(made.unwrap().success());
    std::fs::rename(host.home().join("profiles/pipe"), host.patch_file()).unwrap();
    let applied = log.until("profile/applied");
    let problem = applied["problems"][0].as_str().unwrap();
    assert!(problem.contains("is not a regular file"), "{problem}");
    assert_eq!(host.bash("echo served")["ending"], "completed");
}

#[test]
fn what_is_named_on_the_command_line_must_exist() {
    let host = Host::stopped();
    for arguments in [
        ["serve", "--patch", "no-such-patch.yaml"],
        ["serve", "--profile", "no-such-profile"],
    ] {
        let ran = host.damper(&arguments);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains(arguments[2]), "{ran:?}");
    }
}

#[test]
fn a_row_cannot_raise_what_a_call_can_carry() {
    let host = Host::start();
    let applied = host.edit("- id: approval-gate\n  limits: {arguments: 2MiB}\n");
    let rejected = applied["results"].to_string();
    assert!(
        rejected.contains("above what a call can carry"),
        "{rejected}"
    );
}

#[test]
fn a_row_for_a_mode_that_nothing_declares_is_told() {
    let host = Host::with_patch("- id: approval-gate\n  for: {mode: [plann]}\n");
    let notes = host.status()["notes"].clone();
    let note = notes[0].as_str().unwrap();
    assert!(note.contains("`for.mode` names `plann`"), "{notes}");
    assert!(note.contains(&place(&host, "2:3")), "{notes}");
    host.edit("");
    assert!(host.status()["notes"].is_null(), "{}", host.status());
}
