//! The mode, read as people would tell it.

use damper_guest::{
    Composition, ContextSource, ModelChoice, Preset as _, Session, ToolFilter, WorkerKind,
    read_config,
};
use preset_multitask::{Config, Multitask};

const KINDS: [&str; 4] = [
    "subagent",
    "subagent_fork",
    "subagent_ptc",
    "subagent_minimal",
];

fn mode(config: &str) -> Composition {
    let config = read_config::<Config>(config).expect("it is right");
    Multitask::new(config)
        .compose(&Session::new())
        .expect("it composes")
}

fn names(mode: &Composition) -> Vec<&str> {
    mode.kinds.iter().map(|kind| kind.name.as_str()).collect()
}

fn kind(config: &str, name: &str) -> WorkerKind {
    let mut kinds = mode(config).kinds.into_iter();
    kinds.find(|kind| kind.name == name).expect("there is one")
}

fn keeps(mode: &Composition, tool: &str) -> bool {
    mode.keep.iter().any(|kept| kept == tool)
}

fn has(kind: &WorkerKind, tool: &str) -> bool {
    match &kind.tools {
        ToolFilter::All => true,
        ToolFilter::Only(tools) => tools.iter().any(|named| named == tool),
        ToolFilter::AllBut(tools) => !tools.iter().any(|named| named == tool),
    }
}

#[test]
fn the_coordinator_has_all_tools_and_keeps_those_of_its_trade() {
    let mode = mode("{}");
    assert!(mode.coordinates);
    assert_eq!(mode.tools, ToolFilter::All);
    let kept = "read grep glob file_info subagent subagent_fork subagent_ptc subagent_minimal \
        subagent_preset send_message interrupt_agent list_agents job_list job_output job_kill \
        workflow ask_user_question todo_write create_goal get_goal update_goal exit_plan_mode \
        present skill";
    let mut kept: Vec<&str> = kept.split_whitespace().collect();
    let mut keep: Vec<&str> = mode.keep.iter().map(String::as_str).collect();
    kept.sort_unstable();
    keep.sort_unstable();
    assert_eq!(keep, kept);
}

#[test]
fn each_kind_knows_and_has_what_it_needs() {
    use ContextSource::{Fork, Fresh, Program};
    for (name, context, runs_commands, searches) in [
        ("subagent", Fresh, true, true),
        ("subagent_fork", Fork, true, true),
        ("subagent_ptc", Program, true, true),
        ("subagent_minimal", Fresh, false, true),
    ] {
        let kind = kind("{}", name);
        assert_eq!(kind.context, context, "{name}");
        assert_eq!(has(&kind, "bash"), runs_commands, "{name}");
        assert_eq!(has(&kind, "web_search"), searches, "{name}");
        assert!(has(&kind, "read"), "{name}");
        assert_eq!(kind.model, None, "{name}");
        assert_eq!(kind.persona[0].id, "persona", "{name}");
        for delegation in KINDS.into_iter().chain(["subagent_preset"]) {
            assert!(!has(&kind, delegation), "{name} has {delegation}");
        }
    }
}

#[test]
fn the_investigator_has_ten_tools_and_no_other() {
    let ToolFilter::Only(tools) = kind("{}", "subagent_minimal").tools else {
        unreachable!("it has a list");
    };
    let expected =
        "read grep glob read_image file_info web_search web_fetch skill todo_write present";
    assert_eq!(tools.join(" "), expected);
}

#[test]
fn the_coordinator_is_told_every_topic() {
    let persona = &mode("{}").sections[0];
    assert_eq!(persona.id, "persona");
    let told = persona
        .text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for topic in [
        "Three kinds of content",
        "Ask the person only what inspection cannot answer",
        "eight parts",
        "1. the goal",
        "2. the known facts",
        "3. the house rules",
        "4. the safety rails",
        "5. the steps, numbered",
        "6. the cases: if",
        "7. when to stop",
        "8. what to report",
        "independent briefs in parallel",
        "end your turn",
        "Reports wake you",
        "- `subagent`: Executes",
        "Take this one unless another fits better",
        "subagent limit reached (active child limit: N); wait for an existing child to finish or \
         complete this work with the current agents",
        "subagent depth 2 exceeds maxDepth 1",
        "conclusions, not transcripts",
        "Verify it with your own read tools",
    ] {
        assert!(told.contains(topic), "no `{topic}` in {told}");
    }
}

#[test]
fn without_multi_mode_there_are_two_kinds_and_nothing_speaks_of_the_others() {
    let mode = mode(r#"{"multi_mode": false}"#);
    assert_eq!(names(&mode), ["subagent", "subagent_fork"]);
    for gone in ["subagent_ptc", "subagent_minimal"] {
        assert!(!keeps(&mode, gone), "{gone}");
        assert!(!mode.sections[0].text.contains(gone), "{gone}");
    }
    for stays in ["file_info", "subagent", "subagent_fork"] {
        assert!(keeps(&mode, stays), "{stays}");
    }
}

#[test]
fn a_kind_has_the_model_that_is_set_for_it() {
    let config = r#"{"subagent_models": [
        {"subagent_type": "subagent", "provider": "p", "model": "old"},
        {"subagent_type": "subagent", "provider": "p", "model": "m"},
        {"subagent_type": "gardener", "provider": "p", "model": "m"},
        {"subagent_type": "subagent_fork", "provider": "", "model": "m"},
        {"subagent_type": "subagent_ptc", "provider": "p", "model": " "},
        {"subagent_type": "subagent_minimal", "provider": "p"}
    ]}"#;
    let chosen = ModelChoice {
        provider: "p".to_owned(),
        model: "m".to_owned(),
    };
    assert_eq!(names(&mode(config)), KINDS);
    assert_eq!(kind(config, "subagent").model, Some(chosen));
    for inherits in &KINDS[1..] {
        assert_eq!(kind(config, inherits).model, None, "{inherits}");
    }
}

#[test]
fn points_at_a_setting_that_it_does_not_know() {
    let wrong = r#"{"subagent_models": [{"subagent_type": "subagent", "modle": "m"}]}"#;
    let error = read_config::<Config>(wrong).expect_err("it is unknown");
    assert_eq!(error.pointer, "/subagent_models/0/modle");
}
