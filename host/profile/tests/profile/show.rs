use damper_profile::compose;

use crate::files::{composed, profile};

/// Checks what is shown for the base profile and patches, and that it reads back.
fn check(patches: &[&str], expected: &str) {
    let composition = composed(patches);
    let shown = composition.show();
    assert_eq!(shown, expected);
    let again = compose(&profile(&shown), &[]).unwrap();
    assert_eq!(again.rows, composition.rows);
    assert_eq!(again.notify, composition.notify);
}

#[test]
fn every_key_names_the_line_that_set_it() {
    check(
        &[],
        "\
name: base  # p.yaml:1
rows:
  - id: shell  # p.yaml:3
    tools: [read, bash]  # p.yaml:4
  - id: gate  # p.yaml:5
    plugin: damper/gate  # p.yaml:6
    limits:  # p.yaml:10
      memory: 64MiB  # p.yaml:10
      guest_time: 100ms  # p.yaml:10
    config:  # p.yaml:7
      mode: strict  # p.yaml:8
      lists:  # p.yaml:9
        deny: [a, b]  # p.yaml:9
        allow: [c]  # p.yaml:9
",
    );
}

#[test]
fn patched_keys_name_the_patch() {
    check(
        &[
            "- id: gate\n  disabled: true\n  config:\n    lists: {allow: null, deny: [z]}\n",
            "- id: gate\n  limits: {memory: 1536KiB, guest_time: null}\n  on_failure: ask\n\
             - id: gat\n- insert:\n  - id: 'n:1'\n    plugin: sub/x.wasm\n    for: {mode: ['no']}\n    \
             config: {'a b': \"q\\u0007\\n\", 'x/y~': {}, '1': 1.0, e: [{f: null}]}\n    \
             grants: {files: {metadata: [/tmp, workspace]}}\n",
            "- id: [\n",
        ],
        "\
name: base  # p.yaml:1
rows:
  - id: shell  # p.yaml:3
    tools: [read, bash]  # p.yaml:4
  - id: gate  # p.yaml:5
    plugin: damper/gate  # p.yaml:6
    disabled: true  # a.yaml:2
    on_failure: ask  # b.yaml:3
    limits:  # p.yaml:10
      memory: 1536KiB  # b.yaml:2
    config:  # p.yaml:7
      mode: strict  # p.yaml:8
      lists:  # p.yaml:9
        deny: [z]  # a.yaml:4
  - id: \"n:1\"  # b.yaml:6
    plugin: ./sub/x.wasm  # b.yaml:7
    for: {mode: [\"no\"]}  # b.yaml:8
    grants: {files: {metadata: [/tmp, workspace]}}  # b.yaml:10
    config:  # b.yaml:9
      a b: \"q\\U00000007\\n\"  # b.yaml:9
      \"x/y~\": {}  # b.yaml:9
      \"1\": 1.0  # b.yaml:9
      e: [{f: null}]  # b.yaml:9
# rejected whole: c.yaml:2:1: not valid YAML: while parsing a node, did not find expected node content
# rejected: b.yaml:4:7: there is no row `gat`; did you mean `gate`?
",
    );
}
