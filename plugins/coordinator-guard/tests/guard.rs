//! The guard, asked as the host asks it.

use std::collections::BTreeSet;

use coordinator_guard::{BUILT_IN_KEEP, Config, CoordinatorGuard, Ownership, is_ours, manifest};
use damper_guest::{
    Catalogue, Grants, ListedTool, ModeBinding, Session, read_config, testing::Surroundings,
};
use serde::Deserialize;

/// A line of `cases/regression.jsonl`. Lines whose names begin alike are asks about one session,
/// in order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    name: String,
    session: Facts,
    tools: Vec<String>,
    expect: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    mode: Mode,
    recorded_mode: Option<String>,
    role: String,
    kind: Option<String>,
    parent: Option<String>,
    #[serde(default)]
    depth: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    None,
    Unknown,
    Bound(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    withheld: Vec<String>,
}

type OwnershipTest = fn(&[String], &Session) -> Ownership;

fn regressions() -> Vec<Ask> {
    include_str!("../cases/regression.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("it reads"))
        .collect()
}

fn session(facts: &Facts) -> Session<'static> {
    Session::new().with(|session| {
        session.mode = match &facts.mode {
            Mode::None => ModeBinding::None,
            Mode::Unknown => ModeBinding::Unknown,
            Mode::Bound(id) => ModeBinding::Bound(id.clone()),
        };
        session.recorded_mode.clone_from(&facts.recorded_mode);
        session.role.clone_from(&facts.role);
        session.kind.clone_from(&facts.kind);
        session.parent.clone_from(&facts.parent);
        session.depth = facts.depth;
    })
}

fn tools<T: AsRef<str>>(names: &[T]) -> Vec<ListedTool> {
    let names = names.iter().map(AsRef::as_ref);
    names.map(ListedTool::new).collect()
}

fn guard(config: &str) -> CoordinatorGuard {
    CoordinatorGuard::new(read_config::<Config>(config).expect("it is right"))
}

/// Asks all regression cases and returns the numbers of those that fail.
fn failing(ownership: OwnershipTest) -> BTreeSet<String> {
    let guard = guard("{}");
    let modes = ["multitask".to_owned()];
    let mut around = Surroundings::new();
    let mut failing = BTreeSet::new();
    for ask in regressions() {
        let session = session(&ask.session);
        let ownership = ownership(&modes, &session);
        let tools = tools(&ask.tools);
        let answer = around.ask(|| guard.withhold_from(ownership, &session, &tools));
        if answer != ask.expect.withheld {
            failing.insert(number(&ask));
        }
    }
    failing
}

/// Returns the case that an ask belongs to: the first word of its name.
fn number(ask: &Ask) -> String {
    let number = ask.name.split(' ').next();
    number.expect("a text has a first part").to_owned()
}

/// What a coordinator of `multitask` loses of these tools.
#[track_caller]
fn check(config: &str, keep: &[&str], offered: &[&str], withheld: &[&str]) {
    let session = Session::new()
        .bound_to("multitask")
        .coordinator(keep.to_vec());
    let answer = guard(config).withhold(&session, &tools(offered));
    assert_eq!(answer, withheld, "{config}");
}

#[test]
fn all_thirteen_regressions_hold() {
    let numbers: BTreeSet<String> = regressions().iter().map(number).collect();
    let expected: BTreeSet<String> = (1..=13).map(|number| format!("T{number}")).collect();
    assert_eq!(numbers, expected);
    assert_eq!(failing(is_ours), BTreeSet::new());
}

#[test]
fn the_regressions_notice_a_guard_that_does_not_ask_whose_session_it_is() {
    let failing = failing(|_, _| Ownership::Ours);
    for must_fail in ["T2", "T3", "T5", "T6", "T11", "T13"] {
        assert!(
            failing.contains(must_fail),
            "{must_fail} is not in {failing:?}"
        );
    }
    // And only those can that are about sessions of others.
    for must_hold in ["T1", "T8", "T9", "T10"] {
        assert!(
            !failing.contains(must_hold),
            "{must_hold} is in {failing:?}"
        );
    }
}

#[test]
fn keeps_what_is_built_in_where_the_mode_says_nothing() {
    let mut offered = BUILT_IN_KEEP.to_vec();
    offered.extend(["write", "bash", "run_code"]);
    check("{}", &[], &offered, &["bash", "write"]);
}

#[test]
fn keeps_what_the_mode_declares_instead_of_what_is_built_in() {
    check("{}", &["bash", "nonesuch"], &["bash", "read"], &["read"]);
}

#[test]
fn keep_adds_and_extra_deny_beats_it() {
    let offered = ["bash", "deploy", "read"];
    check(r#"{"keep": ["bash"]}"#, &[], &offered, &["deploy"]);
    check(r#"{"keep": ["bash"]}"#, &["read"], &offered, &["deploy"]);
    let both = r#"{"keep": ["bash"], "extra_deny": ["bash", "read"]}"#;
    check(both, &[], &offered, &["bash", "deploy", "read"]);
}

#[test]
fn never_withholds_the_transport_of_programs() {
    check(r#"{"extra_deny": ["run_code"]}"#, &[], &["run_code"], &[]);
}

#[test]
fn withholds_nothing_while_it_is_switched_off() {
    check(r#"{"guard_enabled": false}"#, &[], &["bash", "read"], &[]);
}

#[test]
fn several_modes_have_their_own_keep_lists() {
    let guard = guard(r#"{"modes": ["one", "two"]}"#);
    let offered = tools(&["bash", "edit", "read"]);
    for (mode, keep, withheld) in [
        ("one", "read", vec!["bash", "edit"]),
        ("two", "edit", vec!["bash", "read"]),
        ("multitask", "edit", vec![]),
    ] {
        let session = Session::new().bound_to(mode).coordinator([keep]);
        assert_eq!(guard.withhold(&session, &offered), withheld, "{mode}");
    }
}

#[test]
fn warns_once_about_a_session_of_which_nothing_is_known() {
    let mut around = Surroundings::new();
    let session = Session::new().with(|facts| facts.mode = ModeBinding::Unknown);
    for _ask in 0..3 {
        let withheld = around.ask(|| guard("{}").withhold(&session, &tools(&["bash"])));
        assert_eq!(withheld, Vec::<String>::new());
    }
    assert_eq!(around.log.len(), 1, "{:?}", around.log);
}

#[test]
fn asks_for_nothing_and_is_asked_for_catalogues_alone() {
    assert_eq!(CoordinatorGuard::GRANTS, Grants::NONE);
    assert!(
        manifest().contains(r#""hooks":["catalogue"]"#),
        "{}",
        manifest()
    );
}

#[test]
fn points_at_a_setting_that_it_does_not_know() {
    let error = read_config::<Config>(r#"{"mode": ["x"]}"#).expect_err("it is unknown");
    assert_eq!(error.pointer, "/mode");
}
