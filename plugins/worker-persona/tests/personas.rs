//! What each kind of worker is told.

use damper_guest::{Persona, Section, Session, read_config};
use worker_persona::{Config, WorkerPersona};

const KINDS: [&str; 4] = [
    "subagent",
    "subagent_fork",
    "subagent_ptc",
    "subagent_minimal",
];

/// What every worker is told, and words that only a text which tells it has.
const COMMON: &[(&str, &[&str])] = &[
    (
        "claims rest on observation",
        &["only what you have observed"],
    ),
    ("no tools from memory", &["never list them from memory"]),
    ("no count of tools", &["never state how many"]),
    ("each path", &["every path that you created", "temporary"]),
    ("rails first", &["outrank the goal"]),
    (
        "stops when blocked",
        &["stop and report", "error text verbatim"],
    ),
    ("does not delegate", &["do not delegate"]),
    (
        "report",
        &[
            "**Done**",
            "**Verified**",
            "**Failed**",
            "**Undetermined**",
            "**Decisions for others**",
        ],
    ),
    ("raw errors", &["with the raw error"]),
    ("language", &["user's language"]),
    (
        "long writes",
        &["400 to 500 lines", "tail", "resume from there"],
    ),
    (
        "fails twice",
        &["same construct fails twice", "place and the error"],
    ),
];

/// What one kind is told and what tells it from the others.
const OWN: &[(&str, &[&str])] = &[
    (
        "subagent",
        &[
            "executor",
            "do not see the conversation",
            "Execute the work now",
            "Do not defer",
        ],
    ),
    (
        "subagent_fork",
        &[
            "inherited are the coordinator's, not yours",
            "completed turns only",
            "through your brief alone",
        ],
    ),
    (
        "subagent_ptc",
        &[
            "`run_code`",
            "generated SDK",
            "Write programs",
            "compact results",
            "probe once",
            "do not retry in a loop",
            "last message",
        ],
    ),
    (
        "subagent_minimal",
        &[
            "investigator",
            "search the web",
            "the mutation is a finding",
        ],
    ),
];

fn persona(config: &str) -> WorkerPersona {
    WorkerPersona::new(read_config::<Config>(config).expect("it is right"))
}

fn worker(kind: &str) -> Session<'static> {
    Session::new().bound_to("multitask").worker(kind)
}

/// What a kind is told, on one line.
fn told(config: &str, kind: &str) -> String {
    let sections = persona(config).sections(&worker(kind));
    let [Section { id, text }] = sections.as_slice() else {
        unreachable!("{kind} has {sections:?}");
    };
    assert_eq!(id, "persona");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_kind_is_told_every_topic_of_all_workers() {
    for kind in KINDS {
        let told = told("{}", kind);
        for (topic, words) in COMMON {
            for word in *words {
                assert!(
                    told.contains(word),
                    "{kind}: {topic}: no `{word}` in {told}"
                );
            }
        }
    }
}

#[test]
fn each_kind_is_told_what_it_is() {
    for (kind, words) in OWN {
        for word in *words {
            assert!(told("{}", kind).contains(word), "{kind}: no `{word}`");
        }
    }
    let beginnings = KINDS.map(|kind| told("{}", kind)[..60].to_owned());
    for (place, beginning) in beginnings.iter().enumerate() {
        assert!(!beginnings[..place].contains(beginning), "{beginning}");
    }
}

#[test]
fn nobody_else_is_told_anything() {
    let coordinator = Session::new().bound_to("multitask").coordinator(["read"]);
    let solo = Session::new().bound_to("solo");
    // A kind does not make a worker, and another mode's kind is that mode's affair.
    let odd = Session::new().with(|facts| facts.kind = Some("subagent".to_owned()));
    for session in [coordinator, solo, Session::new(), odd, worker("gardener")] {
        assert_eq!(persona("{}").sections(&session), [], "{session:?}");
    }
}

#[test]
fn a_house_appends_its_own_rules_to_one_kind() {
    let config = r#"{"extra": {"subagent": "Use the house's linter."}}"#;
    assert_eq!(
        told(config, "subagent"),
        format!("{} Use the house's linter.", told("{}", "subagent"))
    );
    assert_eq!(told(config, "subagent_ptc"), told("{}", "subagent_ptc"));
    let error = read_config::<Config>(r#"{"extra": {"subagnet": ""}}"#).expect_err("it is none");
    assert_eq!(error.pointer, "/extra/subagnet");
}
