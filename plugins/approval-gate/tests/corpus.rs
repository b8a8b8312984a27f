//! The case files, through the front door.

use std::collections::HashMap;
use std::path::Path;

use approval_gate::{Context, Dialect, classify};
use serde::Deserialize;

/// The families that the table holds.
const FAMILIES: &[&str] = &[
    "rm-recursive-force",
    "remove-item-force",
    "cmd-del-force",
    "cmd-rmdir-recursive",
    "format-volume",
    "disk-partition",
];

/// Rows of the family `cross` that only a later family can catch, with that family.
const LATER: &[(&str, &str)] = &[
    ("g-0742", "git-force-push"),
    ("g-0745", "power-state"),
    ("g-0753", "git-reset-hard"),
    ("g-0763", "git-force-push"),
    ("g-0764", "git-clean-force"),
    ("g-0772", "git-force-push"),
    ("g-0777", "git-clean-force"),
    ("g-0783", "git-reset-hard"),
    ("g-0792", "git-force-push"),
    ("g-0795", "git-force-push"),
    ("g-0796", "git-force-push"),
    ("g-0798", "git-force-push"),
    ("g-0800", "git-force-push"),
];

#[derive(Deserialize)]
struct Case {
    id: String,
    shell: String,
    family: String,
    command: String,
    cwd: String,
    expect: String,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/gate-corpus.jsonl");
    let text = std::fs::read_to_string(&path).expect("the corpus is in the repository");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is a case"))
        .collect()
}

fn rules(case: &Case) -> Vec<&'static str> {
    let dialect = match case.shell.as_str() {
        "bash" => Dialect::Bash,
        "pwsh" => Dialect::PowerShell,
        "cmd" => Dialect::Cmd,
        other => panic!("{}: unknown shell {other}", case.id),
    };
    let (roots, temp_roots) = ([case.cwd.clone()], ["/tmp".to_owned()]);
    let context = Context {
        cwd: &case.cwd,
        home: Some("/home/u"),
        roots: &roots,
        temp_roots: &temp_roots,
    };
    classify(&case.command, dialect, &context)
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

fn check(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn asks_for_the_samples_of_each_family_by_its_id() {
    let mut wrong = Vec::new();
    for case in cases()
        .iter()
        .filter(|case| FAMILIES.contains(&case.family.as_str()) && case.expect == "ask")
    {
        let found = rules(case);
        if !found.contains(&case.family.as_str()) {
            wrong.push(format!(
                "{} {} {:?}: {found:?}",
                case.id, case.family, case.command
            ));
        }
    }
    check(&wrong);
}

#[test]
fn asks_through_wrappers_nesting_and_quoting() {
    let later: HashMap<_, _> = LATER.iter().copied().collect();
    let mut wrong = Vec::new();
    for case in cases()
        .iter()
        .filter(|case| case.family == "cross" && case.expect == "ask")
    {
        let asks = !rules(case).is_empty();
        match later.get(case.id.as_str()) {
            Some(family) if asks => {
                wrong.push(format!("{} passes now; it was left to {family}", case.id))
            }
            None if !asks => wrong.push(format!("{} {:?}: allowed", case.id, case.command)),
            Some(_) | None => {}
        }
    }
    check(&wrong);
}

#[test]
fn asks_for_nothing_harmless() {
    let mut wrong = Vec::new();
    for case in cases().iter().filter(|case| case.expect == "allow") {
        let found = rules(case);
        if !found.is_empty() {
            wrong.push(format!(
                "{} {} {:?}: {found:?}",
                case.id, case.shell, case.command
            ));
        }
    }
    check(&wrong);
}
