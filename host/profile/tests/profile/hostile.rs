use std::{fmt::Write, path::Path};

use damper_profile::{MAX_BYTES, MAX_DEPTH, MAX_VALUES, Source, compose, read_tree};

use crate::files::{BASE, patch, profile};

/// Checks that a file is refused whole with this message.
fn check(text: &str, expected: &str) {
    let composition = compose(&profile(BASE), &[patch(text)]).unwrap();
    let refused = composition.layers[1].parsed.as_ref().unwrap_err();
    assert_eq!(refused.to_string(), expected);
    assert_eq!(composition.rows, compose(&profile(BASE), &[]).unwrap().rows);
}

#[test]
fn refuses_deep_nesting() {
    let message = format!("this is nested more than {MAX_DEPTH} levels deep");
    let deep = MAX_DEPTH + 2;
    check(&"[".repeat(100_000), &format!("q.yaml:1:256: {message}"));
    check(
        &"- ".repeat(100_000),
        &format!("q.yaml:1:{}: {message}", deep * 2 - 1),
    );
    check(
        &"{a: ".repeat(100_000),
        &format!("q.yaml:1:1021: {message}"),
    );
    let block: String = (0..200).map(|at| " ".repeat(at) + "a:\n").collect();
    assert!(
        read_tree(&patch(&block))
            .unwrap_err()
            .message
            .contains(&message)
    );
}

#[test]
fn refuses_aliases_before_they_can_multiply() {
    let mut bomb = String::from("- a0: &a0 [x]\n");
    for at in 1..40 {
        writeln!(bomb, "- a{at}: &a{at} [*a{0}, *a{0}, *a{0}]", at - 1).unwrap();
    }
    check(
        &bomb,
        "q.yaml:1:7: anchors (`&`) and aliases (`*`) are not supported; write the value out, or \
         put text that begins so in quotes",
    );
}

#[test]
fn refuses_files_and_counts_beyond_the_limits() {
    let comment = "#".repeat(MAX_BYTES);
    assert!(read_tree(&patch(&comment)).unwrap().is_none());
    check(
        &(comment + "#"),
        "q.yaml:1:1: the file is larger than 1 MiB",
    );
    let many = format!("[{}]", "1,".repeat(MAX_VALUES));
    check(
        &many,
        &format!(
            "q.yaml:1:{}: the file holds more than {MAX_VALUES} values",
            MAX_VALUES * 2
        ),
    );
    check(
        &"- id: gate\n".repeat(1025),
        "q.yaml:1025:3: there are more than 1024 entries",
    );
}

#[test]
fn refuses_rows_beyond_the_limit_one_by_one() {
    let mut text = String::from("- insert:\n");
    for at in 0..300 {
        writeln!(text, "    - {{id: r{at}, plugin: a/b}}").unwrap();
    }
    let composition = compose(&profile(BASE), &[patch(&text)]).unwrap();
    assert_eq!(composition.rows.len(), 256);
    assert_eq!(composition.rejected.len(), 300 - 254);
    assert_eq!(
        composition.rejected[0].to_string(),
        "q.yaml:256:7: there are more than 256 rows"
    );
}

#[test]
fn long_wrong_names_are_cut_in_messages() {
    let text = format!("- id: gate\n  {}: 1\n", "x".repeat(1000));
    let composition = compose(&profile(BASE), &[patch(&text)]).unwrap();
    assert_eq!(
        composition.rejected[0].to_string(),
        format!("q.yaml:2:3: a row has no key `{}…`", "x".repeat(60))
    );
}

/// A patch that uses all of the grammar, with awkward characters.
const EVERYTHING: &str = "\u{feff}# é\r
---
- insert:
    - id: new
      plugin: ./ü.wasm   # c
      digest: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'
      for: {mode: [a], kind: [], door: [mcp]}
      grants: {files: {metadata: [workspace, /tmp]}}
      config: {a: \"\\u00e9\", b: [1, {c: null}], d: {e: {f: 1.5}}}
- id: gate
  disabled: true
  on_failure: deny
  limits: {memory: null, wall_time: 2s}
  config:
    mode: null
    text: |
      line
      line
    folded: >-
      a
- {id: shell, tools: [read]}
...
";

#[test]
fn every_cut_of_a_patch_composes_or_is_refused() {
    let whole = compose(&profile(BASE), &[patch(EVERYTHING)]).unwrap();
    assert_eq!(whole.rejected, []);
    assert_eq!(whole.layers[1].parsed, Ok(()));
    for end in 0..EVERYTHING.len() {
        let source = Source::at(Path::new("q.yaml"), &EVERYTHING.as_bytes()[..end]);
        let composition = compose(&profile(BASE), &[source]).unwrap();
        assert!(composition.rows.len() <= 3);
        let show = composition.show();
        let again = compose(&profile(&show), &[]).unwrap_or_else(|error| panic!("{error}\n{show}"));
        assert_eq!(again.rows, composition.rows, "{end}");
    }
}

#[test]
fn every_changed_byte_composes_or_is_refused() {
    let replacements = b"\0\t\n\r -:#'\"[]{}&*!|>%@`?,\\~<=0a\xc3\xff";
    for at in 0..EVERYTHING.len() {
        for byte in replacements {
            let mut bytes = EVERYTHING.as_bytes().to_vec();
            bytes[at] = *byte;
            let source = Source::at(Path::new("q.yaml"), &bytes);
            let composition = compose(&profile(BASE), &[source]).unwrap();
            assert!(composition.rows.len() <= 3);
        }
    }
}

#[test]
fn every_cut_of_a_profile_composes_or_is_refused() {
    let text = include_str!("../../../../profiles/default.yaml");
    let whole = Source::at(Path::new("p.yaml"), text.as_bytes());
    let rows = compose(&whole, &[]).unwrap().rows.len();
    for end in 0..text.len() {
        let source = Source::at(Path::new("p.yaml"), &text.as_bytes()[..end]);
        match compose(&source, &[]) {
            Ok(composition) => assert!(composition.rows.len() <= rows),
            Err(error) => assert!(!error.mistakes.is_empty()),
        }
    }
}

#[test]
fn every_large_file_is_answered() {
    let fragments = [
        "- id: gate\n",
        "- id: x\n",
        "[",
        "{",
        "'",
        "\"",
        "? ",
        ": ",
        "&a ",
        "!a ",
        "#",
        "a: ",
        "- ",
        "\n",
        "|\n",
        "a\n",
        "%a\n",
        "---\n",
        "*a ",
        "[a,",
        "{a: b,",
        " ",
        "-\n",
        "a: b\n",
        "?\n",
        "\u{e9}",
        "\\",
        "a:\n ",
        "[a]: ",
        "- - a\n",
        "\r",
        "\r\n",
        "\u{feff}",
        "'' ",
        "a b ",
    ];
    for fragment in fragments {
        let text = fragment.repeat((MAX_BYTES - 64) / fragment.len());
        let composition = compose(&profile(BASE), &[patch(&text)]).unwrap();
        assert_eq!(composition.rows.len(), 2, "{fragment:?}");
        let text = format!("- id: gate\n  config: {{a: [{text}");
        let composition = compose(&profile(BASE), &[patch(&text)]).unwrap();
        assert_eq!(composition.rows.len(), 2, "{fragment:?}");
    }
}
