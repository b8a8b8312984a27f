use std::path::Path;

use damper_profile::{RowKind, Source, Tools, compose, read_tree, schema};

const DEFAULT: &str = include_str!("../../../../profiles/default.yaml");

/// Checks that the editor's schema and the reader agree about a file.
fn check(text: &str, expected: bool) {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    let source = Source::at(Path::new("f.yaml"), text.as_bytes());
    let tree = read_tree(&source).unwrap();
    let is_patch = tree.as_ref().is_none_or(|tree| tree.items().is_some());
    let json = tree.map_or_else(|| serde_json::json!([]), |tree| tree.to_json().unwrap());
    let accepted = if is_patch {
        let base = "name: b\nrows: [{id: x, plugin: a/b}, {id: y, tools: native}]\n";
        let base = Source::at(Path::new("b.yaml"), base.as_bytes());
        let composition = compose(&base, &[source]).unwrap();
        composition.rejected.is_empty() && composition.layers[1].parsed.is_ok()
    } else {
        compose(&source, &[]).is_ok()
    };
    assert_eq!(accepted, expected, "reader: {text}");
    assert_eq!(schema.is_valid(&json), expected, "schema: {text}");
}

#[test]
fn schema_and_reader_accept_the_same() {
    check(DEFAULT, true);
    check("", true);
    check("[]", true);
    check("name: x", true);
    check(
        "- {id: x, disabled: true, limits: {memory: 1GiB, host_calls: 5, wall_time: null}}",
        true,
    );
    check(
        "- {id: x, config: {a: {b: [1, null]}}, digest: null, for: null, grants: null}",
        true,
    );
    check("- {id: y, tools: all}", true);
    check("- {id: x, for: {door: [mcp], mode: []}}", true);
    check(
        "- insert: [{id: z, plugin: ./a.wasm, on_failure: pass}]",
        true,
    );
    check("- {id: x, plugin: plugins/a.wasm}", true);
}

#[test]
fn schema_and_reader_refuse_the_same() {
    check("{}", false);
    check("{name: x, row: []}", false);
    check("{name: x, notify: []}", false);
    check("{name: x, rows: [{id: a}]}", false);
    check("{name: x, rows: [{id: a, plugin: a/b, tools: [c]}]}", false);
    check("{name: x, rows: [{id: 'a b', plugin: a/b}]}", false);
    check("- {disabled: true}", false);
    check("- {id: x, disabled: no}", false);
    check("- {id: x, limits: {memory: 64MB}}", false);
    check("- {id: x, limits: {memory: 0}}", false);
    check("- {id: x, limits: {guest_time: 100}}", false);
    check("- {id: x, on_failure: allow}", false);
    check("- {id: x, for: {door: [web]}}", false);
    check("- {id: x, grants: {files: {metadata: [tmp]}}}", false);
    check("- {id: x, digest: sha256:abc}", false);
    check("- {id: x, plugin: gate}", false);
    check("- {insert: [], id: x}", false);
    check("- {id: x, provider: openai}", false);
    check("- {id: y, tools: [a b]}", false);
}

#[test]
fn the_shipped_profile_has_its_rows() {
    let source = Source::at(Path::new("share/default.yaml"), DEFAULT.as_bytes());
    let composition = compose(&source, &[]).unwrap();
    let ids: Vec<&str> = composition.rows.iter().map(|row| row.id.as_str()).collect();
    let expected = [
        "files-and-shell",
        "approval-gate",
        "file-info",
        "solo",
        "plan",
        "multitask",
        "coordinator-guard",
        "worker-persona",
    ];
    assert_eq!(ids, expected);
    let tools = ["read", "grep", "bash"].map(str::to_owned).to_vec();
    assert_eq!(
        composition.rows[0].kind,
        RowKind::Tools(Tools::Names(tools))
    );
    assert_eq!(composition.name.value, "default");
}
