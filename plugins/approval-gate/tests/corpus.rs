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
    shell: Shell,
    family: String,
    command: String,
    cwd: String,
    expect: Expect,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Shell {
    Bash,
    Pwsh,
    Cmd,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Expect {
    Ask,
    Allow,
}

/// The samples of the reference.
const CORPUS: &str = "../../tests/cases/gate-corpus.jsonl";

/// Commands of our own, about what is walked and how words are cooked.
const WALK: &str = "tests/walk.jsonl";

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).expect("the cases are in the repository");
    let case = |line| serde_json::from_str(line).expect("each line is a case");
    text.lines().map(case).collect()
}

fn rules(case: &Case) -> Vec<&'static str> {
    rules_of(&case.command, case)
}

/// Returns the rules that match `command` where `case` would run.
fn rules_of(command: &str, case: &Case) -> Vec<&'static str> {
    let dialect = match case.shell {
        Shell::Bash => Dialect::Bash,
        Shell::Pwsh => Dialect::PowerShell,
        Shell::Cmd => Dialect::Cmd,
    };
    let (roots, temp_roots) = ([case.cwd.clone()], ["/tmp".to_owned()]);
    let context = Context {
        cwd: &case.cwd,
        home: Some("/home/u"),
        roots: &roots,
        temp_roots: &temp_roots,
    };
    let findings = classify(command, dialect, &context);
    findings.iter().map(|finding| finding.rule.id).collect()
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
    for case in cases(CORPUS)
        .iter()
        .filter(|case| FAMILIES.contains(&case.family.as_str()) && case.expect == Expect::Ask)
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
    for case in cases(CORPUS)
        .iter()
        .filter(|case| case.family == "cross" && case.expect == Expect::Ask)
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
    for case in cases(CORPUS)
        .iter()
        .filter(|case| case.expect == Expect::Allow)
    {
        let found = rules(case);
        if !found.is_empty() {
            wrong.push(format!(
                "{} {:?} {:?}: {found:?}",
                case.id, case.shell, case.command
            ));
        }
    }
    check(&wrong);
}

#[test]
fn walks_whatever_executes() {
    let mut wrong = Vec::new();
    for case in cases(WALK) {
        let found = rules(&case);
        if found.is_empty() != (case.expect == Expect::Allow) {
            wrong.push(format!("{} {:?}: {found:?}", case.id, case.command));
        }
    }
    check(&wrong);
}

/// Makes a command another one runs.
type Wrap<'a> = &'a dyn Fn(&str) -> String;

#[test]
fn asks_just_the_same_when_wrapped() {
    let quoted = |command: &str| format!("'{}'", command.replace('\'', "'\\''"));
    let wraps: [(&str, Wrap<'_>); 9] = [
        ("subshell", &|command| format!("(\n{command}\n)")),
        ("group", &|command| format!("{{\n{command}\n}}")),
        ("branch", &|command| format!("if true; then\n{command}\nfi")),
        ("after", &|command| format!("true\n{command}")),
        ("before", &|command| format!("{command}\ntrue")),
        ("bash -c", &|command| format!("bash -c {}", quoted(command))),
        ("sudo", &|command| {
            format!("sudo env A=1 sh -ec {}", quoted(command))
        }),
        ("eval", &|command| format!("eval {}", quoted(command))),
        ("ssh", &|command| {
            format!("ssh -p 22 host {}", quoted(command))
        }),
    ];
    let mut wrong = Vec::new();
    let cases = [cases(CORPUS), cases(WALK)].into_iter().flatten();
    for case in cases.filter(|case| case.shell == Shell::Bash && !rules(case).is_empty()) {
        let lost = wraps
            .iter()
            .filter(|(_, wrap)| rules_of(&wrap(&case.command), &case).is_empty());
        wrong.extend(lost.map(|(name, _)| format!("{} {name}: {:?}", case.id, case.command)));
    }
    check(&wrong);
}

#[test]
fn names_what_is_most_specific_first() {
    let case = Case {
        id: "order".to_owned(),
        shell: Shell::Pwsh,
        family: String::new(),
        command: "rm -rf x; Clear-Disk 1".to_owned(),
        cwd: "/w/proj".to_owned(),
        expect: Expect::Ask,
    };
    assert_eq!(rules(&case), ["format-volume", "rm-recursive-force"]);
    let both = rules_of("ri -Recurse x; rm -rf y", &case);
    assert_eq!(both, ["remove-item-force", "rm-recursive-force"]);
}
