use damper_profile::{Source, read_tree};
use serde_json::Value;

/// Checks what a text means: JSON, nothing, or the message that refuses it.
fn check(text: &str, expected: &str) {
    check_bytes(text.as_bytes(), expected);
}

fn check_bytes(bytes: &[u8], expected: &str) {
    let source = Source::at(std::path::Path::new("f"), bytes);
    let read = read_tree(&source).and_then(|root| root.map(|root| root.to_json()).transpose());
    let shown = match read {
        Ok(Some(json)) => json.to_string(),
        Ok(None) => String::new(),
        Err(mistake) => mistake.to_string(),
    };
    assert_eq!(shown, expected, "{:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn only_the_core_schema_types_plain_words() {
    check(
        "[no, on, yes, y, off, true, False, null, ~, NULL]",
        r#"["no","on","yes","y","off",true,false,null,null,null]"#,
    );
    check(
        "[1, -2, +3, 007, 0x1F, 0o17, 0b1, 1_000, 1:30]",
        r#"[1,-2,3,7,31,15,"0b1","1_000","1:30"]"#,
    );
    check(
        "[1.5, .5, 5., 1e3, -1E-2, 1e, e1, '.', +, 0x, 1.2.3]",
        r#"[1.5,0.5,5.0,1000.0,-0.01,"1e","e1",".","+","0x","1.2.3"]"#,
    );
    check("['1', \"true\", !!str 1, ! 2]", r#"["1","true","1","2"]"#);
    check("18446744073709551615", "18446744073709551615");
    check("- |\n  a\n  b\n- >-\n  c\n  d\n", r#"["a\nb\n","c d"]"#);
}

#[test]
fn refuses_numbers_that_json_cannot_keep() {
    let too_large = "this number is too large to keep exactly; put it in quotes";
    for number in [
        "18446744073709551616",
        "-9223372036854775809",
        "1e999",
        "0xFFFFFFFFFFFFFFFFF",
    ] {
        check(&format!("a: {number}"), &format!("f:1:4: {too_large}"));
    }
    for number in [".inf", "-.Inf", ".nan"] {
        let message = "JSON has no such number; put it in quotes to pass it as text";
        check(&format!("- {number}"), &format!("f:1:3: {message}"));
    }
}

#[test]
fn tells_nothing_from_something() {
    for text in [
        "",
        "\n",
        "# c\n",
        "---\n",
        "---\n# c\n...\n",
        "\u{feff}",
        "---\n---\n",
        "\u{feff}# c",
    ] {
        check(text, "");
    }
    check("null", "null");
    check("''", r#""""#);
}

#[test]
fn accepts_one_document_and_its_marks() {
    check("---\na: 1\n", r#"{"a":1}"#);
    check("a: 1\n---\n", r#"{"a":1}"#);
    check("a: 1\n...\n", r#"{"a":1}"#);
    check("a: 1\n---\n# c\n", r#"{"a":1}"#);
    check("%YAML 1.2\n---\na: 1\n", r#"{"a":1}"#);
    let second = "a second document begins here; a file holds one";
    check("a: 1\n---\nb: 2\n", &format!("f:2:1: {second}"));
    check("---\n---\nb: 2\n", &format!("f:2:1: {second}"));
}

#[test]
fn positions_count_characters_whatever_the_line_ends() {
    check("é: 1\nü: [ñ, *x]\n", &anchor(2, 8));
    check("\u{feff}a: *x\n", &anchor(1, 4));
    check("a: 1\r\nb: *x\r\n", &anchor(2, 4));
    check("a: 1\rb: *x\r", &anchor(2, 4));
    check(
        "a: 1\r\n\r\nb: \u{1}\r\n",
        "f:3:4: the character U+0001 is not allowed",
    );
    check(
        "a: 1\rb: \u{1}\r",
        "f:2:4: the character U+0001 is not allowed",
    );
    check(
        "\u{feff}é: \u{7f}",
        "f:1:4: the character U+007F is not allowed",
    );
}

fn anchor(line: u32, column: u32) -> String {
    format!(
        "f:{line}:{column}: anchors (`&`) and aliases (`*`) are not supported; write the value \
         out, or put text that begins so in quotes"
    )
}

#[test]
fn refuses_what_means_something_else_than_it_seems_to() {
    check("a: &x 1\nb: *x\n", &anchor(1, 4));
    check("a: &x [1]\n", &anchor(1, 4));
    check("a: &x {b: 1}\n", &anchor(1, 4));
    check("&x a: 1\n", &anchor(1, 1));
    check(
        "<<: {a: 1}\n",
        "f:1:1: merge keys are not supported; write the keys out",
    );
    check("'<<': 1\n", r#"{"<<":1}"#);
    check(
        "a: 1\nb: 2\na: 3\n",
        "f:3:1: the key `a` is here a second time",
    );
    check(
        "{a: 1, 'a': 3}\n",
        "f:1:8: the key `a` is here a second time",
    );
    check("? [a]\n: 1\n", "f:1:3: a key must be a single word or text");
    check(": 1\n", "f:1:1: a key is missing here");
}

#[test]
fn refuses_tags_by_name() {
    check(
        "a: !env HOME\n",
        "f:1:4: the tag `!env` is not supported; remove it",
    );
    check(
        "a: !!binary aa\n",
        "f:1:4: the tag `!!binary` is not supported; remove it",
    );
    check(
        "a: !!python/object:x.Y []\n",
        "f:1:4: the tag `!!python/object:x.Y` is not supported; remove it",
    );
    check(
        "a: !!map []\n",
        "f:1:4: the tag `!!map` is not supported; remove it",
    );
    check(
        "a: !!int no\n",
        "f:1:4: `no` is not what its tag `!!int` says",
    );
    check(
        "a: !!bool true\nb: !!int '3'\nc: !!seq [1]\n",
        r#"{"a":true,"b":3,"c":[1]}"#,
    );
}

#[test]
fn says_where_text_is_not_yaml() {
    check(
        "a:\n\tb: 1\n",
        "f:2:2: not valid YAML: tabs disallowed within this context (block indentation); \
         this line has a tab; write spaces",
    );
    check(
        "a: b: c\n",
        "f:1:5: not valid YAML: mapping values are not allowed in this context",
    );
    check(
        "a: [1, 2\n",
        "f:2:1: not valid YAML: while parsing a flow sequence, expected ',' or ']'",
    );
    check_bytes(
        b"a: 1\nb: \xff\n",
        "f:2:4: this is not UTF-8; save the file as UTF-8",
    );
    check_bytes(
        b"a: \xe4",
        "f:1:4: this is not UTF-8; save the file as UTF-8",
    );
    check("a: x\0y\n", "f:1:5: the character U+0000 is not allowed");
    check_bytes(
        b"\xff\xfea\0",
        "f:1:1: this is not UTF-8; save the file as UTF-8",
    );
}

#[test]
fn every_span_holds_its_own_text() {
    let text = "\u{feff}é: 1\nü:\n  - 'x'  # c\n  - {k: [1, 2] } \n# end\nz: |\n  l1\n  l2\n\nq:\n";
    let root = read_tree(&Source::at(std::path::Path::new("f"), text.as_bytes()))
        .unwrap()
        .unwrap();
    let of = |key: &str| &text[root.get(key).unwrap().span.clone()];
    assert_eq!(of("é"), "1");
    assert_eq!(of("ü"), "- 'x'  # c\n  - {k: [1, 2] }");
    assert_eq!(of("z"), "l1\n  l2");
    assert_eq!(of("q"), "");
    let items = root.get("ü").unwrap().items().unwrap();
    assert_eq!(&text[items[0].span.clone()], "'x'");
    assert_eq!(&text[items[1].span.clone()], "{k: [1, 2] }");
    assert_eq!(
        items[1].get("k").unwrap().to_json().unwrap(),
        Value::from(vec![1, 2])
    );
}
