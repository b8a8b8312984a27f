use std::{fs, time::Instant};

use damper_tools::{NativeTool, ToolResult};
use serde_json::{Value, json};

use crate::stage::Stage;

async fn check(stage: &Stage, arguments: Value, expected: &str) {
    let output = stage.completed(NativeTool::Grep, arguments.clone()).await;
    assert_eq!(output.text, expected, "{arguments}");
    assert!(!output.is_error, "{arguments}");
}

async fn check_refused(stage: &Stage, arguments: Value, expected: &str) {
    let output = stage.completed(NativeTool::Grep, arguments.clone()).await;
    let text = &output.text;
    assert!(
        output.is_error && text.contains(expected),
        "{arguments}: {text}"
    );
    assert!(!text.contains("top secret"), "{arguments}: {text}");
}

#[tokio::test]
async fn returns_matching_lines_with_their_places() {
    let stage = Stage::new();
    stage.write("b.rs", "fn main() {}\n// needle\r\n");
    stage.write("a/x.ts", "needle one\nnothing\nNeedle two");
    stage.write("a/b/y.tsx", "needle deep\n");
    stage.write(".github/ci.yml", "needle: dot\n");
    let table = [
        (
            json!({"pattern": "needle"}),
            ".github/ci.yml:1:needle: dot\na/b/y.tsx:1:needle deep\na/x.ts:1:needle one\n\
             b.rs:2:// needle\n",
        ),
        (json!({"pattern": "needle$"}), "b.rs:2:// needle\n"),
        (json!({"pattern": "(?i)needle t"}), "a/x.ts:3:Needle two\n"),
        (
            json!({"pattern": "needle", "path": "a/b"}),
            "a/b/y.tsx:1:needle deep\n",
        ),
        (
            json!({"pattern": "needle", "path": "b.rs"}),
            "b.rs:2:// needle\n",
        ),
        (
            json!({"pattern": "needle", "include": "*.rs"}),
            "b.rs:2:// needle\n",
        ),
        (
            json!({"pattern": "needle", "include": "*.{ts,tsx}"}),
            "a/b/y.tsx:1:needle deep\na/x.ts:1:needle one\n",
        ),
        (
            json!({"pattern": "needle", "include": "a/*.ts"}),
            "a/x.ts:1:needle one\n",
        ),
        (
            json!({"pattern": "needle", "include": "./a/**/*.tsx"}),
            "a/b/y.tsx:1:needle deep\n",
        ),
        (json!({"pattern": "absent"}), "[no line matches]\n"),
        (json!({"pattern": r"fn \w+\(\)"}), "b.rs:1:fn main() {}\n"),
    ];
    for (arguments, expected) in table {
        check(&stage, arguments, expected).await;
    }
    let output = stage
        .completed(NativeTool::Grep, json!({"pattern": "needle"}))
        .await;
    let expected = json!({"matches": 4, "files": 4, "truncated": false});
    assert_eq!(output.structured, Some(expected));
}

#[tokio::test]
async fn skips_what_nobody_wants_to_see() {
    let stage = Stage::new();
    stage.write(".gitignore", "ignored/\n*.log\n");
    stage.write("ignored/file", "needle\n");
    stage.write("x.log", "needle\n");
    stage.write(".git/config", "needle\n");
    stage.write("binary", b"needle\n\0\0needle\n");
    stage.write(
        "late_binary",
        "needle\n".to_owned() + &"x\n".repeat(200_000) + "\0",
    );
    stage.write("kept", "needle\n");
    stage.fifo("fifo");
    check(&stage, json!({"pattern": "needle"}), "kept:1:needle\n").await;
    check(
        &stage,
        json!({"pattern": "needle", "include": "*.log"}),
        "[no line matches]\n",
    )
    .await;
    check(
        &stage,
        json!({"pattern": "needle", "path": "x.log"}),
        "x.log:1:needle\n",
    )
    .await;
}

#[tokio::test]
async fn stays_inside_the_roots() {
    let stage = Stage::new();
    stage.link("out", stage.outside("secret"));
    stage.link("out_folder", stage.outside(""));
    stage.link("up", "..");
    stage.write("mine", "not top secret\n");
    check(
        &stage,
        json!({"pattern": "top secret"}),
        "mine:1:not top secret\n",
    )
    .await;
    for path in ["out", "out_folder", "up", "..", "/", "/etc/passwd"] {
        check_refused(&stage, json!({"pattern": ".", "path": path}), "is outside").await;
    }
    check_refused(
        &stage,
        json!({"pattern": ".", "path": "home"}),
        "belongs to damper",
    )
    .await;
    check_refused(
        &stage,
        json!({"pattern": ".", "path": "none"}),
        "does not exist",
    )
    .await;
}

#[tokio::test]
async fn refuses_patterns_it_cannot_use() {
    let stage = Stage::new();
    stage.write("file", "x\n");
    let nested = "(".repeat(5000) + &")".repeat(5000);
    let table = [
        ("(", "unclosed group"),
        ("[", "unclosed"),
        (r"(\w{1000}){1000}", "size limit"),
        (nested.as_str(), "nest"),
    ];
    for (pattern, expected) in table {
        check_refused(&stage, json!({"pattern": pattern}), expected).await;
        check_refused(
            &stage,
            json!({"pattern": pattern}),
            "not a valid expression",
        )
        .await;
    }
    check_refused(
        &stage,
        json!({"pattern": "x", "include": "[a"}),
        "not a valid glob",
    )
    .await;
    // A pattern that takes exponential time where backtracking is used.
    stage.write("evil", "a".repeat(100_000) + "\n");
    check(&stage, json!({"pattern": "(a*)*b"}), "[no line matches]\n").await;
}

#[tokio::test]
async fn returns_no_more_than_a_model_can_take() {
    let stage = Stage::new();
    stage.write("a", "needle\n".repeat(250));
    let exact = stage
        .completed(NativeTool::Grep, json!({"pattern": "needle"}))
        .await;
    assert_eq!(exact.structured.unwrap()["truncated"], false);
    stage.write("b", "needle\n");
    let more = stage
        .completed(NativeTool::Grep, json!({"pattern": "needle"}))
        .await;
    assert_eq!(more.text.lines().count(), 251);
    assert!(
        more.text
            .ends_with("[more than 250 lines match; narrow the pattern, path or include]\n")
    );
    assert_eq!(more.structured.unwrap()["truncated"], true);
    stage.write("c", "ä".repeat(501) + "needle2\n");
    let cut = format!("c:1:{}... [line cut]\n", "ä".repeat(500));
    check(&stage, json!({"pattern": "needle2"}), &cut).await;
}

#[tokio::test]
async fn odd_names_and_bytes_cannot_forge_a_line() {
    let stage = Stage::new();
    stage.write("a\nb:1:x", "needle\n");
    stage.write("latin1", b"needle caf\xe9\n");
    stage.write("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0");
    check(
        &stage,
        json!({"pattern": "needle"}),
        "a\\nb:1:x:1:needle\nlatin1:1:needle caf\u{fffd}\nutf16:1:needle\n",
    )
    .await;
}

#[tokio::test]
async fn stops_when_told_even_inside_one_file() {
    let mut stage = Stage::new();
    // A sparse file of a tebibyte, all of whose bytes would be looked at.
    stage.write("huge", "x\n".repeat(50_000));
    let huge = fs::File::options()
        .append(true)
        .open(stage.path("huge"))
        .unwrap();
    huge.set_len(1 << 40).unwrap();
    let arguments = json!({"pattern": "needle"});
    stage.context.deadline = Instant::now();
    let late = stage.run(NativeTool::Grep, arguments.clone()).await;
    let ToolResult::TimedOut(output) = late else {
        panic!("{late:?}");
    };
    assert!(
        output
            .text
            .starts_with("[no line matches so far]\n[out of time: "),
        "{}",
        output.text
    );
    stage.context.cancel.cancel();
    let cancelled = stage.run(NativeTool::Grep, arguments).await;
    assert!(
        matches!(cancelled, ToolResult::Cancelled(_)),
        "{cancelled:?}"
    );
}
