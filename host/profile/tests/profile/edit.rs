use damper_call::RowId;
use damper_profile::{EditError, overridden_by, remove, revert, set, set_disabled};
use serde_json::{Value, json};

use crate::files::{composed, patch};

fn id(row: &str) -> RowId {
    row.parse().unwrap()
}

/// Checks the text, or the message, that setting a key gives.
fn check_set(text: &str, row: &str, path: &str, value: &Value, expected: &str) {
    check(set(&patch(text), &id(row), path, value), text, expected);
}

fn check_disable(text: &str, expected: &str) {
    check(
        set_disabled(&patch(text), &id("gate"), true),
        text,
        expected,
    );
}

fn check(edited: Result<String, EditError>, text: &str, expected: &str) {
    let shown = edited.unwrap_or_else(|error| error.to_string());
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn adds_an_entry_when_there_is_none() {
    check_disable("", "- id: gate\n  disabled: true\n");
    check_disable("# mine\n", "# mine\n- id: gate\n  disabled: true\n");
    check_disable("# mine", "# mine\n- id: gate\n  disabled: true\n");
    check_disable("---\n", "---\n- id: gate\n  disabled: true\n");
    check_disable("[]\n", "[{id: gate, disabled: true}]\n");
    check_disable(
        "[{id: a}] # c\n",
        "[{id: a}, {id: gate, disabled: true}] # c\n",
    );
    check_disable(
        "- id: a # c\n# end\n",
        "- id: a # c\n# end\n- id: gate\n  disabled: true\n",
    );
    check_disable(
        "- id: a\n---\n",
        "- id: a\n- id: gate\n  disabled: true\n---\n",
    );
    check_disable(
        "- id: a\n# c\n...\n",
        "- id: a\n# c\n- id: gate\n  disabled: true\n...\n",
    );
    check_disable(
        "  - id: a\n",
        "  - id: a\n  - id: gate\n    disabled: true\n",
    );
    check_disable(
        "- id: a\r\n",
        "- id: a\r\n- id: gate\r\n  disabled: true\r\n",
    );
    check_disable(
        "\u{feff}# é\n",
        "\u{feff}# é\n- id: gate\n  disabled: true\n",
    );
}

#[test]
fn changes_only_the_value_that_is_there() {
    check_disable(
        "# a\n- id: gate   # b\n  disabled:   false  # c\n  config: {x: 1}\n# d\n",
        "# a\n- id: gate   # b\n  disabled:   true  # c\n  config: {x: 1}\n# d\n",
    );
    check_disable(
        "- {id: gate, disabled: false}\n",
        "- {id: gate, disabled: true}\n",
    );
    check_disable(
        "- disabled: false\n  id: 'gate'",
        "- disabled: true\n  id: 'gate'",
    );
    check_disable(
        "- id: gate\n  disabled: false\n- id: gate\n  disabled: false\n",
        "- id: gate\n  disabled: false\n- id: gate\n  disabled: true\n",
    );
    check_disable(
        "- id: gate\n  disabled:\n",
        "- id: gate\n  disabled: true\n",
    );
    check_disable(
        "- id: é\n- id: gate # ü\n  disabled: false # ñ\n",
        "- id: é\n- id: gate # ü\n  disabled: true # ñ\n",
    );
    check_disable(
        "- \"disabled\": false\n  id: gate\n",
        "- \"disabled\": true\n  id: gate\n",
    );
}

#[test]
fn adds_the_key_to_the_entry_that_is_there() {
    check_disable(
        "- id: gate # b\n  # c\n\n# d\n- id: a\n",
        "- id: gate # b\n  disabled: true\n  # c\n\n# d\n- id: a\n",
    );
    check_disable("-   id: gate", "-   id: gate\n    disabled: true");
    check_disable("- {id: gate}\n", "- {id: gate, disabled: true}\n");
    check_disable(
        "- id: gate\r\n  config:\r\n    t: |\r\n      x\r\n      y\r\n\r\n# e\r\n",
        "- id: gate\r\n  config:\r\n    t: |\r\n      x\r\n      y\r\n  disabled: true\r\n\r\n# e\r\n",
    );
    check_disable(
        "- insert:\n    - id: gate\n      plugin: a/b # c\n    - id: z\n      plugin: a/b\n",
        "- insert:\n    - id: gate\n      plugin: a/b # c\n      disabled: true\n    - id: z\n      plugin: a/b\n",
    );
}

#[test]
fn sets_keys_of_any_depth() {
    check_set(
        "",
        "gate",
        "config.a.b",
        &json!([1, "x: y"]),
        "- id: gate\n  config: {a: {b: [1, \"x: y\"]}}\n",
    );
    check_set(
        "- id: gate\n  config:\n    a: # c\n      b: 1 # d\n    z: 2\n",
        "gate",
        "config.a.b",
        &json!("no"),
        "- id: gate\n  config:\n    a: # c\n      b: \"no\" # d\n    z: 2\n",
    );
    check_set(
        "- id: gate\n  config:\n    a:\n      b: 1 # d\n    z: 2\n",
        "gate",
        "config.a.c",
        &json!(null),
        "- id: gate\n  config:\n    a:\n      b: 1 # d\n      c: null\n    z: 2\n",
    );
    check_set(
        "- id: gate\n  config:\n    t: |\n      x\n      y\n    z: 2\n",
        "gate",
        "config.t",
        &json!("l1\nl2"),
        "- id: gate\n  config:\n    t: \"l1\\nl2\"\n    z: 2\n",
    );
    check_set(
        "- id: gate\n  config:\n    a: 1\n",
        "gate",
        "config.a.b",
        &json!(2),
        "- id: gate\n  config:\n    a: {b: 2}\n",
    );
    check_set(
        "- id: gate\n  limits: {memory: 1MiB} # c\n",
        "gate",
        "limits.wall_time",
        &json!("2s"),
        "- id: gate\n  limits: {memory: 1MiB, wall_time: 2s} # c\n",
    );
    check_set(
        "- id: gate\n  grants:\n    files:\n      metadata:\n        - workspace\n",
        "gate",
        "grants",
        &json!({}),
        "- id: gate\n  grants: {}\n",
    );
}

#[test]
fn refuses_what_would_be_rejected() {
    let key = "is not a key of a row that can be set, such as `disabled` or `limits.memory`";
    check_set(
        "",
        "gate",
        "disbled",
        &json!(true),
        &format!("`disbled` {key}"),
    );
    check_set("", "gate", "id", &json!("x"), &format!("`id` {key}"));
    check_set(
        "",
        "gate",
        "config..a",
        &json!("x"),
        &format!("`config..a` {key}"),
    );
    check_set(
        "",
        "gate",
        "limits.memry",
        &json!(1),
        "q.yaml:2:12: `limits` has no key `memry`; did you mean `memory`?",
    );
    check_set(
        "",
        "gate",
        "disabled",
        &json!("no"),
        "q.yaml:2:13: `disabled` must be a truth value, not `no`; write true or false",
    );
    check_set(
        "",
        "gate",
        "on_failure",
        &json!("allow"),
        "q.yaml:2:15: `on_failure` must be one of ask, deny, pass, not `allow`",
    );
    check_set(
        "- id: [\n",
        "gate",
        "disabled",
        &json!(true),
        "q.yaml:2:1: not valid YAML: while parsing a node, did not find expected node content",
    );
    check_set(
        "id: gate\n",
        "gate",
        "disabled",
        &json!(true),
        "q.yaml:1:1: a patch must be a list",
    );
}

#[test]
fn refuses_forms_that_it_cannot_edit_safely() {
    let form = "q.yaml is written in a form that cannot be edited from here; change it by hand";
    check_disable("[id: gate]\n", form);
    check_disable("- {id: gate, config: }\n", form);
    check_disable("- ? id\n  : gate\n  ? disabled\n", form);
}

#[test]
fn takes_edits_and_rows_out() {
    let text = "# top\n- id: a\n# about gate\n- id: gate # x\n  config:\n    t: |\n      y\n# end\n\
                - insert:\n    - id: n\n      plugin: a/b\n    - id: m # m\n      plugin: a/b\n- id: n\n";
    check(
        revert(&patch(text), &id("gate")),
        text,
        "# top\n- id: a\n# about gate\n# end\n\
         - insert:\n    - id: n\n      plugin: a/b\n    - id: m # m\n      plugin: a/b\n- id: n\n",
    );
    check(
        remove(&patch(text), &id("n")),
        text,
        "# top\n- id: a\n# about gate\n- id: gate # x\n  config:\n    t: |\n      y\n# end\n\
         - insert:\n    - id: m # m\n      plugin: a/b\n",
    );
    check(revert(&patch("- id: gate"), &id("gate")), "", "");
    check(
        revert(&patch("[{id: a}, {id: gate}, {id: b}]"), &id("gate")),
        "",
        "[{id: a}, {id: b}]",
    );
    check(
        revert(&patch("[{id: a}, {id: gate}, {id: gate}]"), &id("gate")),
        "",
        "[{id: a}, ]",
    );
    check(
        remove(
            &patch("- insert: [{id: gate, plugin: a/b}] # c\n# d\n"),
            &id("gate"),
        ),
        "",
        "# d\n",
    );
    check(
        revert(&patch("- insert: [{id: gate, plugin: a/b}]\n"), &id("gate")),
        "",
        "q.yaml says nothing about row `gate` that could be removed",
    );
}

#[test]
fn names_the_later_line_that_overrides() {
    let composition = composed(&[
        "- {id: gate, disabled: true, config: {a: 1, b: 2}}",
        "- id: gate\n  disabled: false\n  config: {b: 3}\n",
    ]);
    let over = |path: &str, file: &str| {
        overridden_by(&composition, &id("gate"), path, file).map(ToString::to_string)
    };
    assert_eq!(over("disabled", "a.yaml").as_deref(), Some("b.yaml:2:3"));
    assert_eq!(over("config.b", "a.yaml").as_deref(), Some("b.yaml:3:12"));
    assert_eq!(over("config.a", "a.yaml"), None);
    assert_eq!(over("config.mode", "a.yaml"), None);
    assert_eq!(over("disabled", "b.yaml"), None);
}
