use std::{fs, os::unix::net::UnixListener, time::Instant};

use damper_tools::{NativeTool, ToolResult};
use serde_json::{Value, json};

use crate::stage::Stage;

/// What a row of a table expects of the answer.
enum Expected<'a> {
    Text(&'a str),
    Contains(&'a str),
    Refused(&'a str),
}
use Expected::{Contains, Refused, Text};

async fn check(stage: &Stage, arguments: Value, expected: Expected<'_>) {
    let output = stage.completed(NativeTool::Read, arguments.clone()).await;
    let text = &output.text;
    match expected {
        Text(whole) => assert_eq!(text, whole, "{arguments}"),
        Contains(part) => assert!(text.contains(part), "{arguments}: {text}"),
        Refused(part) => {
            assert!(
                output.is_error && text.contains(part),
                "{arguments}: {text}"
            );
            assert!(!text.contains("top secret"), "{arguments}: {text}");
            return;
        }
    }
    assert!(!output.is_error, "{arguments}: {text}");
}

#[tokio::test]
async fn returns_numbered_lines() {
    let stage = Stage::new();
    stage.write("three", "one\ntwo\nthree\n");
    stage.write("open", "one\n\nthree");
    stage.write("empty", "");
    stage.write("newline", "\n");
    stage.write("dos", "one\r\ntwo\r\n");
    stage.write("sub/deep.txt", "deep\n");
    let absolute = stage.path("three");
    let table = [
        (
            json!({"file_path": "three"}),
            Text("     1\tone\n     2\ttwo\n     3\tthree\n"),
        ),
        (json!({"file_path": absolute}), Contains("     3\tthree\n")),
        (
            json!({"file_path": "./sub/../three", "offset": 3}),
            Text("     3\tthree\n"),
        ),
        (json!({"file_path": "sub/deep.txt"}), Text("     1\tdeep\n")),
        (
            json!({"file_path": "three", "offset": 2, "limit": 1}),
            Text("     2\ttwo\n[more lines follow; go on with offset 3]\n"),
        ),
        (
            json!({"file_path": "three", "limit": 3}),
            Contains("     3\tthree\n"),
        ),
        (
            json!({"file_path": "open"}),
            Text("     1\tone\n     2\t\n     3\tthree\n"),
        ),
        (json!({"file_path": "empty"}), Text("(`empty` is empty)")),
        (json!({"file_path": "newline"}), Text("     1\t\n")),
        (
            json!({"file_path": "dos"}),
            Contains("     1\tone\n     2\ttwo\n[lines end with CRLF]"),
        ),
        (
            json!({"file_path": "three", "offset": 4}),
            Refused("has 3 lines, so there is no line 4"),
        ),
        (
            json!({"file_path": "three", "offset": u64::MAX}),
            Refused("has 3 lines"),
        ),
    ];
    for (arguments, expected) in table {
        check(&stage, arguments, expected).await;
    }
}

#[tokio::test]
async fn returns_no_more_than_a_model_can_take() {
    let stage = Stage::new();
    stage.write("lines", "x\n".repeat(2001));
    stage.write("exact", "x\n".repeat(2000));
    stage.write("long", "ä".repeat(2001) + "\nnext\n");
    stage.write("fits", "ä".repeat(2000));
    stage.write("wide", ("🦀".repeat(1500) + "\n").repeat(20));
    check(
        &stage,
        json!({"file_path": "lines"}),
        Contains("  2000\tx\n[more lines follow; go on with offset 2001]"),
    )
    .await;
    for (name, truncated) in [
        ("exact", false),
        ("fits", false),
        ("long", true),
        ("wide", true),
    ] {
        let output = stage
            .completed(NativeTool::Read, json!({"file_path": name}))
            .await;
        let structured = output.structured.unwrap();
        assert_eq!(structured["truncated"], truncated, "{name}");
        assert!(output.text.len() <= 51_200 + 200, "{name}");
    }
    check(
        &stage,
        json!({"file_path": "long"}),
        Contains("ä\n     2\tnext\n[lines cut"),
    )
    .await;
    check(
        &stage,
        json!({"file_path": "wide"}),
        Contains("go on with offset 9"),
    )
    .await;
}

#[tokio::test]
async fn refuses_what_is_not_text() {
    let stage = Stage::new();
    stage.write("binary", b"\x7fELF\0\0");
    stage.write("utf16", b"\xff\xfea\0b\0");
    stage.write("latin1", b"caf\xe9\nok\n");
    stage.fifo("fifo");
    let _listener = UnixListener::bind(stage.path("socket")).unwrap();
    let table = [
        (
            json!({"file_path": "binary"}),
            Refused("(6 bytes) is a binary file"),
        ),
        (json!({"file_path": "utf16"}), Refused("iconv")),
        (
            json!({"file_path": "fifo"}),
            Refused("is a FIFO, not a file"),
        ),
        (
            json!({"file_path": "socket"}),
            Refused("is a socket, not a file"),
        ),
        (
            json!({"file_path": "."}),
            Refused("is a folder, not a file; list it with `ls`"),
        ),
        (
            json!({"file_path": "latin1"}),
            Text(
                "     1\tcaf\u{fffd}\n     2\tok\n[some bytes are not UTF-8 and are shown as \u{fffd}]\n",
            ),
        ),
    ];
    for (arguments, expected) in table {
        check(&stage, arguments, expected).await;
    }
}

#[tokio::test]
async fn stays_inside_the_roots() {
    let stage = Stage::new();
    stage.write("file", "mine\n");
    stage.link("relative", "file");
    stage.link("absolute", stage.path("file"));
    stage.link("out", stage.outside("secret"));
    stage.link("out_folder", stage.outside(""));
    stage.link("climb", "../outside/secret");
    stage.link("to_home", "home/token");
    stage.link("null", "/dev/null");
    for path in ["relative", "absolute"] {
        check(&stage, json!({"file_path": path}), Text("     1\tmine\n")).await;
    }
    let outside = stage.outside("secret").display().to_string();
    let table = [
        ("out", "is outside the folders of this session"),
        ("out_folder/secret", "is outside"),
        ("climb", "is outside"),
        ("../outside/secret", "is outside"),
        ("../outside/nothing", "is outside"),
        ("home/../../outside/secret", "is outside"),
        (&outside, "is outside"),
        ("/etc/passwd", "is outside"),
        ("/proc/self/environ", "is outside"),
        ("null", "is outside"),
        ("home/token", "belongs to damper itself"),
        ("to_home", "belongs to damper itself"),
    ];
    for (path, expected) in table {
        check(&stage, json!({"file_path": path}), Refused(expected)).await;
    }
}

#[tokio::test]
async fn says_what_is_wrong_with_a_path() {
    let stage = Stage::new();
    stage.write("file", "mine\n");
    stage.link("loop", "loop");
    stage.link("out_missing", stage.outside("nothing"));
    let long = "x".repeat(5000);
    let table = [
        ("nothing", "does not exist"),
        ("out_missing", "does not exist"),
        ("file/below", "cannot be opened"),
        ("loop", "cannot be opened"),
        (&long, "cannot be opened"),
        ("", "the path is empty"),
        ("a\0b", "NUL"),
    ];
    for (path, expected) in table {
        check(&stage, json!({"file_path": path}), Refused(expected)).await;
    }
}

#[tokio::test]
async fn roots_that_are_links_or_missing_do_no_harm() {
    let mut stage = Stage::new();
    stage.write("file", "mine\n");
    let link = stage.outside("root");
    std::os::unix::fs::symlink(stage.path(""), &link).unwrap();
    stage.context.roots = vec![stage.outside("missing"), link.clone()];
    check(
        &stage,
        json!({"file_path": link.join("file")}),
        Text("     1\tmine\n"),
    )
    .await;
    check(
        &stage,
        json!({"file_path": link.join("none")}),
        Refused("does not exist"),
    )
    .await;
    stage.context.roots.clear();
    check(
        &stage,
        json!({"file_path": "file"}),
        Refused("none of them exists"),
    )
    .await;
}

#[tokio::test]
async fn a_file_of_any_size_is_read_in_bounded_time_and_memory() {
    let stage = Stage::new();
    stage.write("huge", "x".repeat(70_000));
    let huge = fs::File::options()
        .append(true)
        .open(stage.path("huge"))
        .unwrap();
    huge.set_len(1 << 40).unwrap();
    check(
        &stage,
        json!({"file_path": "huge"}),
        Contains("x\n[the file is too long to read on; use bash]"),
    )
    .await;
    check(
        &stage,
        json!({"file_path": "huge", "offset": 7}),
        Refused("line 7 of `huge`"),
    )
    .await;
}

#[tokio::test]
async fn stops_when_told() {
    let mut stage = Stage::new();
    stage.write("file", "mine\n");
    let arguments = json!({"file_path": "file"});
    stage.context.deadline = Instant::now();
    let late = stage.run(NativeTool::Read, arguments.clone()).await;
    assert!(matches!(late, ToolResult::TimedOut(_)), "{late:?}");
    stage.context.cancel.cancel();
    let cancelled = stage.run(NativeTool::Read, arguments).await;
    assert!(
        matches!(cancelled, ToolResult::Cancelled(_)),
        "{cancelled:?}"
    );
}
