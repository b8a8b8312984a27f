use std::{path::Path, time::Duration};

use damper_profile::{
    Folder, OnFailure, PluginRef, Row, RowKind, Source, compose, format_size, format_time,
    parse_size, parse_time,
};
use serde_json::json;

use crate::files::{BASE, composed, patch, profile};

/// Checks the messages about one patch over the base profile; none means all applied.
fn check(text: &str, expected: &[&str]) {
    let composition = compose(&profile(BASE), &[patch(text)]).unwrap();
    let whole = composition.layers[1].parsed.as_ref().err();
    let mut messages: Vec<String> = whole.map(ToString::to_string).into_iter().collect();
    messages.extend(composition.rejected.iter().map(ToString::to_string));
    assert_eq!(messages, expected, "{text}");
}

/// Checks the messages about a profile.
fn check_profile(text: &str, expected: &[&str]) {
    let error = compose(&profile(text), &[]).unwrap_err();
    let messages: Vec<String> = error.mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(messages, expected, "{text}");
}

fn gate(patches: &[&str]) -> Row {
    let composition = composed(patches);
    assert_eq!(composition.rejected, [], "{patches:?}");
    composition.rows[1].clone()
}

#[test]
fn no_edits_change_nothing() {
    let base = compose(&profile(BASE), &[]).unwrap();
    for text in ["", "# all\n", "---\n", "[]", "- insert: []\n", "\u{feff}"] {
        check(text, &[]);
        assert_eq!(
            compose(&profile(BASE), &[patch(text)]).unwrap().rows,
            base.rows
        );
    }
}

#[test]
fn the_last_edit_wins() {
    assert!(!gate(&[]).disabled);
    assert!(gate(&["- id: gate\n  disabled: true\n"]).disabled);
    assert!(!gate(&["- id: gate\n  disabled: true\n- id: gate\n  disabled: false\n"]).disabled);
    assert!(
        !gate(&[
            "- id: gate\n  disabled: true\n",
            "- id: gate\n  disabled: false\n"
        ])
        .disabled
    );
    assert_eq!(
        gate(&["- {id: gate, on_failure: deny}"]).on_failure,
        OnFailure::Deny
    );
    assert_eq!(
        gate(&[
            "- {id: gate, on_failure: deny}",
            "- {id: gate, on_failure: null}"
        ])
        .on_failure,
        OnFailure::Ask
    );
    assert_eq!(
        gate(&["- {id: gate, plugin: other/gate}"]).kind,
        RowKind::Plugin(PluginRef::Id("other/gate".to_owned()))
    );
}

#[test]
fn config_merges_by_key_and_null_removes() {
    let cases = [
        (
            "{}",
            json!({"mode": "strict", "lists": {"deny": ["a", "b"], "allow": ["c"]}}),
        ),
        (
            "{mode: lax}",
            json!({"mode": "lax", "lists": {"deny": ["a", "b"], "allow": ["c"]}}),
        ),
        (
            "{mode: null}",
            json!({"lists": {"deny": ["a", "b"], "allow": ["c"]}}),
        ),
        (
            "{lists: {deny: [z]}}",
            json!({"mode": "strict", "lists": {"deny": ["z"], "allow": ["c"]}}),
        ),
        (
            "{lists: {deny: null, new: {x: 1}}}",
            json!({"mode": "strict", "lists": {"allow": ["c"], "new": {"x": 1}}}),
        ),
        ("{lists: 3}", json!({"mode": "strict", "lists": 3})),
        (
            "{mode: {a: 1, b: null}}",
            json!({"mode": {"a": 1}, "lists": {"deny": ["a", "b"], "allow": ["c"]}}),
        ),
        (
            "{unknown: null}",
            json!({"mode": "strict", "lists": {"deny": ["a", "b"], "allow": ["c"]}}),
        ),
        ("null", json!({})),
    ];
    for (config, expected) in cases {
        let row = gate(&[&format!("- id: gate\n  config: {config}\n")]);
        assert_eq!(serde_json::Value::from(row.config), expected, "{config}");
    }
}

#[test]
fn limits_merge_by_key_and_null_removes() {
    let limits =
        gate(&["- {id: gate, limits: {memory: null, wall_time: 2s, host_calls: 0, log: 10}}"])
            .limits;
    assert_eq!(limits.memory, None);
    assert_eq!(limits.guest_time, Some(Duration::from_millis(100)));
    assert_eq!(limits.wall_time, Some(Duration::from_secs(2)));
    assert_eq!((limits.host_calls, limits.log), (Some(0), Some(10)));
    assert_eq!(
        gate(&["- {id: gate, limits: null}"]).limits,
        damper_profile::Limits::default()
    );
}

#[test]
fn each_grant_is_read_and_shown() {
    let text = "{files: {metadata: [workspace], read: [/a]}, http: [\"example.com:8443\"], clock: true, random: true, sessions: true, roster: true}";
    let row = gate(&[&format!("- {{id: gate, grants: {text}}}")]);
    assert_eq!(row.grants.files_read, [Folder::Absolute("/a".into())]);
    assert_eq!(row.grants.http, ["example.com:8443"]);
    let flags = [
        row.grants.clock,
        row.grants.random,
        row.grants.sessions,
        row.grants.roster,
    ];
    assert_eq!(flags, [true; 4]);
    let profile = composed(&[&format!("- {{id: gate, grants: {text}}}")]);
    let shown = profile.show();
    assert!(
        shown.contains("grants: {files: {metadata: [workspace], read: [/a]}"),
        "{shown}"
    );
    for flag in ["clock", "random", "sessions", "roster"] {
        assert!(shown.contains(&format!("{flag}: true")), "{shown}");
    }
}

#[test]
fn grants_coverage_and_digest_are_replaced() {
    let first =
        "- {id: gate, grants: {files: {metadata: [/a, workspace]}}, for: {mode: [m], kind: [k]}}";
    let row = gate(&[first]);
    assert_eq!(
        row.grants.files_metadata,
        [Folder::Absolute("/a".into()), Folder::Workspace]
    );
    let row = gate(&[first, "- {id: gate, grants: {}, for: {door: [cli]}}"]);
    assert_eq!(row.grants.files_metadata, []);
    assert_eq!((row.covers.mode.len(), row.covers.door.len()), (0, 1));
    let digest = format!("- {{id: gate, digest: 'sha256:{}'}}", "ab".repeat(32));
    assert!(gate(&[&digest]).digest.is_some());
    assert!(
        gate(&[&digest, "- {id: gate, digest: null}"])
            .digest
            .is_none()
    );
}

#[test]
fn plugin_files_are_relative_to_the_naming_file() {
    let text = "- insert:\n  - {id: a, plugin: ./a.wasm}\n  - {id: b, plugin: x/../b.wasm}\n  - {id: c, plugin: /c}\n";
    let source = Source::at(Path::new("/home/p/q.yaml"), text.as_bytes());
    let composition = compose(&profile(BASE), &[source]).unwrap();
    let files: Vec<_> = composition.rows[2..]
        .iter()
        .map(|row| row.kind.clone())
        .collect();
    let expected = ["/home/p/a.wasm", "/home/p/x/../b.wasm", "/c"]
        .map(|file| RowKind::Plugin(PluginRef::File(file.into())));
    assert_eq!(files, expected);
}

#[test]
fn rows_are_equal_when_they_do_the_same() {
    let base = compose(&profile(BASE), &[]).unwrap();
    let moved = compose(&profile(&format!("# comment\n{BASE}")), &[]).unwrap();
    assert_eq!(base.rows, moved.rows);
    assert_ne!(base.rows[1].position(), moved.rows[1].position());
    assert_ne!(base.rows[1], gate(&["- {id: gate, disabled: true}"]));
}

#[test]
fn one_bad_entry_leaves_the_others() {
    let text = "\
- id: gate
  disabled: maybe
- id: gate
  config: {mode: lax}
- insert:
    - id: bad
    - id: good
      plugin: a/b
- 5
- id: shell
  disabled: true
";
    check(
        text,
        &[
            "q.yaml:2:13: `disabled` must be a truth value, not `maybe`; write true or false",
            "q.yaml:6:7: row `bad` needs `plugin` or `tools`",
            "q.yaml:9:3: an entry must be a map of keys and values, not `5`",
        ],
    );
    let composition = compose(&profile(BASE), &[patch(text)]).unwrap();
    assert_eq!(composition.rows.len(), 3);
    assert_eq!(composition.rows[1].config["mode"], "lax");
    assert!(composition.rows[0].disabled && !composition.rows[1].disabled);
    let about: Vec<_> = composition
        .rejected
        .iter()
        .map(|r| (r.entry, r.row.as_ref().map(|id| id.as_str())))
        .collect();
    assert_eq!(about, [(0, Some("gate")), (2, Some("bad")), (3, None)]);
}

#[test]
fn a_rejected_edit_changes_no_part_of_its_row() {
    let text = "- {id: gate, disabled: true, config: {mode: lax}, limits: {memory: 1KiB, log: x}}";
    let composition = compose(&profile(BASE), &[patch(text)]).unwrap();
    assert_eq!(composition.rejected.len(), 1);
    assert_eq!(composition.rows[1], gate(&[]));
}

#[test]
fn wrong_names_are_answered_with_the_nearest_right_one() {
    check(
        "- id: gat\n",
        &["q.yaml:1:7: there is no row `gat`; did you mean `gate`?"],
    );
    check("- id: other\n", &["q.yaml:1:7: there is no row `other`"]);
    check(
        "- id: gate\n  disbled: true\n",
        &["q.yaml:2:3: a row has no key `disbled`; did you mean `disabled`?"],
    );
    check(
        "- id: gate\n  on-failure: ask\n",
        &["q.yaml:2:3: a row has no key `on-failure`; did you mean `on_failure`?"],
    );
    check(
        "- id: gate\n  limits: {memry: 1}\n",
        &["q.yaml:2:12: `limits` has no key `memry`; did you mean `memory`?"],
    );
    check(
        "- id: gate\n  on_failure: aks\n",
        &[
            "q.yaml:2:15: `on_failure` must be one of ask, deny, pass, not `aks`; did you mean `ask`?",
        ],
    );
    check(
        "- {id: gate, for: {dor: [mcp]}}",
        &["q.yaml:1:20: `for` has no key `dor`; did you mean `door`?"],
    );
    check(
        "- {id: gate, for: {door: [mpc]}}",
        &["q.yaml:1:27: `door` must be one of mcp, cli, not `mpc`; did you mean `mcp`?"],
    );
    check(
        "- {id: gate, grants: {net: [x]}}",
        &[
            "q.yaml:1:23: `grants` has no key `net`; it has files, http, clock, random, sessions, roster",
        ],
    );
    check(
        "- {id: gate, grants: {files: {metadata: [worksapce]}}}",
        &[
            "q.yaml:1:42: `worksapce` is not a folder that can be granted; did you mean `workspace`?",
        ],
    );
    check(
        "- insrt:\n    - id: x\n",
        &["q.yaml:1:3: an entry needs `id: ROW` or `insert: [ROWS]`; did you mean `insert`?"],
    );
    check(
        "- insert:\n    - id: x\n      plugn: a/b\n",
        &["q.yaml:3:7: a row has no key `plugn`; did you mean `plugin`?"],
    );
    check(
        "- insert: [{id: x, plugin: a}]\n- {id: x, disabled: true}\n",
        &[
            "q.yaml:1:28: `a` is not a plugin; write owner/name, or a file such as ./guard.wasm",
            "q.yaml:2:8: there is no row `x`; it was rejected at q.yaml:1:28",
        ],
    );
}

#[test]
fn half_written_values_remove_nothing() {
    let hint = "write one, or `null` for none";
    check(
        "- id: gate\n  config:\n",
        &[&format!("q.yaml:2:3: `config` has no value; {hint}")],
    );
    check(
        "- id: gate\n  config:\n    mode:\n",
        &[&format!("q.yaml:3:5: `mode` has no value; {hint}")],
    );
    check(
        "- id: gate\n  config: {a: [{b: }]}\n",
        &[&format!("q.yaml:2:17: `b` has no value; {hint}")],
    );
    check(
        "- id: gate\n  grants:\n",
        &[&format!("q.yaml:2:3: `grants` has no value; {hint}")],
    );
    check(
        "- id:\n",
        &[&format!("q.yaml:1:3: `id` has no value; {hint}")],
    );
    check(
        "- insert:\n",
        &["q.yaml:1:3: `insert` has no value; write a list of rows"],
    );
    check(
        "-\n",
        &["q.yaml:1:2: an entry must be a map of keys and values, not nothing"],
    );
    check(
        "- id: gate\n  config:\n    x:\n      -\n",
        &["q.yaml:4:8: a value is missing here"],
    );
}

#[test]
fn wrong_types_are_named_at_their_place() {
    let truth = "write true or false";
    check(
        "- id: gate\n  disabled: no\n",
        &[&format!(
            "q.yaml:2:13: `disabled` must be a truth value, not `no`; {truth}"
        )],
    );
    check(
        "- id: gate\n  disabled: 1\n",
        &[&format!(
            "q.yaml:2:13: `disabled` must be a truth value, not `1`; {truth}"
        )],
    );
    check(
        "- id: gate\n  disabled: 'true'\n",
        &[&format!(
            "q.yaml:2:13: `disabled` must be a truth value, not `true`; {truth}"
        )],
    );
    check(
        "- id: gate\n  config: [a]\n",
        &["q.yaml:2:11: `config` must be a map of keys and values, not a list"],
    );
    check(
        "- id: gate\n  plugin: {}\n",
        &["q.yaml:2:11: `plugin` must be text, not a map"],
    );
    check(
        "- id: gate\n  plugin: null\n",
        &["q.yaml:2:11: `plugin` must be text, not `null`"],
    );
    check(
        "- id: 12\n",
        &["q.yaml:1:7: `id` must be text, not `12`; put it in quotes"],
    );
    check(
        "- id: 'a b'\n",
        &["q.yaml:1:7: `a b` is not a row id: only letters, digits and `-_.:/` are allowed"],
    );
    check(
        "- {id: gate, for: {mode: m}}",
        &["q.yaml:1:26: `mode` must be a list, not `m`"],
    );
    check(
        "- {id: gate, for: {mode: ['']}}",
        &["q.yaml:1:27: `each of mode` must not be empty"],
    );
    check(
        "- insert: {id: x}\n",
        &["q.yaml:1:11: `insert` must be a list, not a map"],
    );
    check(
        "- insert: [x]\n",
        &["q.yaml:1:12: a row must be a map of keys and values, not `x`"],
    );
    check(
        "- insert: []\n  id: x\n",
        &["q.yaml:2:3: an entry with `insert` has no other key, such as `id`"],
    );
    check(
        "id: gate\n",
        &["q.yaml:1:1: a patch must be a list, not a map"],
    );
    check(
        "null\n",
        &["q.yaml:1:1: a patch must be a list, not `null`"],
    );
}

#[test]
fn sizes_times_and_counts_say_what_to_write() {
    let size = "write a size such as 64MiB, 256KiB or a number of bytes";
    let time = "write a time with its unit, such as 100ms, 2s or 1m";
    let limits = |text: &str, message: &str| {
        check(
            &format!("- {{id: gate, limits: {{{text}}}}}"),
            &[&format!("q.yaml:1:{message}")],
        );
    };
    limits(
        "memory: 64MB",
        &format!("31: `memory` must be a size, not `64MB`; {size}"),
    );
    limits(
        "memory: 99999999999GiB",
        &format!("31: `memory` must be a size, not `99999999999GiB`; {size}"),
    );
    limits(
        "memory: 1.5",
        "31: `memory` must be a size, not `1.5`; write a whole number of bytes, or a size such as 64MiB",
    );
    limits(
        "memory: -1",
        "31: `memory` must be a size, not `-1`; write a whole number of bytes, or a size such as 64MiB",
    );
    limits("memory: 0", "31: `memory` must be more than zero");
    limits(
        "wall_time: 100",
        &format!("34: `wall_time` must be a time, not `100`; {time}"),
    );
    limits(
        "wall_time: 1h",
        &format!("34: `wall_time` must be a time, not `1h`; {time}"),
    );
    limits("wall_time: 0s", "34: `wall_time` must be more than zero");
    limits(
        "host_calls: many",
        "35: `host_calls` must be a whole number, not `many`",
    );
    for (text, bytes) in [
        ("64MiB", 64 << 20),
        ("1 GiB", 1 << 30),
        ("3B", 3),
        ("1536KiB", 1536 << 10),
    ] {
        assert_eq!(parse_size(text), Ok(bytes));
        assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
    }
    for (text, ms) in [
        ("100ms", 100),
        ("2s", 2_000),
        ("1m", 60_000),
        ("1500ms", 1_500),
    ] {
        assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)));
        assert_eq!(
            parse_time(&format_time(Duration::from_millis(ms))),
            Ok(Duration::from_millis(ms))
        );
    }
}

#[test]
fn rows_are_one_of_plugin_and_tools() {
    check(
        "- insert: [{id: x, plugin: a/b, tools: [c]}]",
        &["q.yaml:1:33: row `x` has both `plugin` and `tools`; a row has one of them"],
    );
    check(
        "- insert: [{plugin: a/b}]",
        &["q.yaml:1:12: this row has no `id`"],
    );
    check(
        "- insert: [{id: x, provider: openai}]",
        &["q.yaml:1:20: `provider` is not in this version"],
    );
    check(
        "- insert: [{id: x, server: {}}]",
        &["q.yaml:1:20: `server` is not in this version"],
    );
    check(
        "- {id: gate, tools: [a]}",
        &[
            "q.yaml:1:21: row `gate` has `plugin` and cannot get `tools`; disable it and insert another row",
        ],
    );
    check(
        "- {id: shell, plugin: a/b}",
        &[
            "q.yaml:1:23: row `shell` has `tools` and cannot get `plugin`; disable it and insert another row",
        ],
    );
    check(
        "- {id: shell, tools: [a, b, a]}",
        &["q.yaml:1:29: the tool `a` is here a second time"],
    );
    check(
        "- {id: shell, tools: [a/b]}",
        &["q.yaml:1:23: `a/b` is not a tool's name"],
    );
    check(
        "- {id: gate, plugin: ~/x.wasm}",
        &["q.yaml:1:22: `~/x.wasm` is not a plugin; `~` is not expanded; write the whole path"],
    );
    check(
        "- insert: [{id: gate, plugin: a/b}]",
        &[
            "q.yaml:1:12: row `gate` is already at p.yaml:5:5; edit it with an entry `- id:`, or choose another id",
        ],
    );
}

#[test]
fn a_profile_with_any_mistake_is_none() {
    check_profile("", &["p.yaml:1:1: the profile is empty"]);
    check_profile(
        "- id: x\n",
        &["p.yaml:1:1: a profile must be a map of keys and values, not a list"],
    );
    check_profile("rows: []\n", &["p.yaml:1:1: this profile has no `name`"]);
    check_profile(
        "name: x\nrows:\n",
        &["p.yaml:2:1: `rows` has no value; write one, or `null` for none"],
    );
    check_profile(
        "name: x\nnotify: beep\n",
        &["p.yaml:2:9: `notify` must be a list, not `beep`"],
    );
    check_profile(
        "name: x\nnotify: []\n",
        &["p.yaml:2:9: `notify` must name a program"],
    );
    check_profile(
        "name: 1\nrow: []\nrows:\n  - id: x\n    plugin: a/b\n  - id: x\n    tools: all\n  - 5\n",
        &[
            "p.yaml:1:7: `name` must be text, not `1`; put it in quotes",
            "p.yaml:2:1: a profile has no key `row`; did you mean `rows`?",
            "p.yaml:6:5: row `x` is already at p.yaml:4:5; edit it with an entry `- id:`, or choose another id",
            "p.yaml:8:5: a row must be a map of keys and values, not `5`",
        ],
    );
}

#[test]
fn notify_and_description_are_read() {
    let text = "name: x\ndescription: of x\nnotify: [say, hello]\n";
    let composition = compose(&profile(text), &[]).unwrap();
    assert_eq!(composition.notify.unwrap().value, ["say", "hello"]);
    assert_eq!(composition.description.unwrap().value, "of x");
    assert_eq!(composition.rows, []);
}

#[test]
fn pointers_into_config_lead_to_the_line() {
    let row = gate(&[
        "- id: gate\n  config:\n    lists:\n      deny:\n        - x\n        - {'a/b': 1}\n    mode: null\n",
    ]);
    let place = |pointer: &str| row.config_position(pointer).to_string();
    assert_eq!(place("/lists/deny/1/a~1b"), "a.yaml:6:12");
    assert_eq!(place("/lists/deny/1"), "a.yaml:6:11");
    assert_eq!(place("/lists/deny"), "a.yaml:4:7");
    assert_eq!(place("/lists/allow/0"), "p.yaml:9:37");
    assert_eq!(place("/lists/missing/deep"), "p.yaml:9:7");
    assert_eq!(place("/mode"), "p.yaml:7:5");
    assert_eq!(place(""), "p.yaml:7:5");
    let bare = composed(&[]).rows[0].clone();
    assert_eq!(bare.config_position("/x").to_string(), "p.yaml:3:5");
}
