use damper_guest::{
    Call, FileError, FileKind, Metadata, Output, Tool, ToolError, testing::Surroundings,
};
use serde_json::{Value, json};

use super::FileInfo;

fn metadata(resolved: &str, kind: FileKind, size: Option<u64>) -> Metadata {
    Metadata {
        resolved: resolved.to_owned(),
        kind,
        size,
    }
}

fn workspace() -> Surroundings {
    Surroundings::new()
        .granting(FileInfo::GRANTS)
        .with_path(
            "/workspace/a.txt",
            Ok(metadata("/workspace/a.txt", FileKind::File, Some(12))),
        )
        .with_path(
            "/workspace/link",
            Ok(metadata("/workspace/a.txt", FileKind::File, Some(12))),
        )
        .with_path(
            "/workspace/src",
            Ok(metadata("/workspace/src", FileKind::Directory, Some(4096))),
        )
        .with_path(
            "/workspace/pipe",
            Ok(metadata("/workspace/pipe", FileKind::Other, None)),
        )
        .with_path(
            "/workspace/odd",
            Ok(metadata("/workspace/odd", FileKind::File, None)),
        )
        .with_path(
            "/workspace/big",
            Ok(metadata("/workspace/big", FileKind::File, Some(u64::MAX))),
        )
        .with_path(
            "/workspace/loop",
            Err(FileError::Failed("too many links".to_owned())),
        )
        .with_path(
            "/workspace/nul",
            Err(FileError::InvalidPath("it holds a NUL".to_owned())),
        )
        .with_path(
            "/etc/passwd",
            Ok(metadata("/etc/passwd", FileKind::File, Some(2048))),
        )
}

fn run(arguments: &Value) -> Result<Output, ToolError> {
    let call = Call::new("file_info").with_arguments(arguments);
    workspace().ask(|| FileInfo.run(&call))
}

#[track_caller]
fn check_refused(arguments: &Value, expected: &str) {
    let error = run(arguments).expect_err("it is refused");
    assert_eq!(error, ToolError::InvalidArguments(expected.to_owned()));
}

#[track_caller]
fn check(paths: &[&str], expected: &Value, text: &str) {
    let output = run(&json!({ "paths": paths })).expect("one bad path never spoils the batch");
    assert_eq!(output.structured.expect("it has one"), *expected);
    assert_eq!(output.text, text);
}

#[test]
fn refuses_wrong_arguments() {
    check_refused(
        &json!({"paths": ["a"], "k": 1}),
        "file_info: unknown argument \"k\"; this tool accepts only \"paths\"",
    );
    check_refused(
        &json!({}),
        "file_info: \"paths\" is missing; it is a list of 1 to 256 paths",
    );
    check_refused(
        &json!({"paths": "a"}),
        "file_info: \"paths\" is not a list; it is a list of 1 to 256 paths",
    );
    check_refused(
        &json!({"paths": []}),
        "file_info: \"paths\" is empty; name at least one path",
    );
    check_refused(
        &json!({"paths": vec!["a"; 257]}),
        "file_info: too many paths (257); at most 256 per call",
    );
    check_refused(
        &json!({"paths": ["a", 1]}),
        "file_info: paths[1] is not a string",
    );
    check_refused(
        &json!({"paths": ["a", " \t"]}),
        "file_info: paths[1] is blank",
    );
    check_refused(&json!([]), "file_info: the arguments are not an object");
}

#[test]
fn takes_as_many_paths_as_allowed() {
    let output = run(&json!({"paths": vec!["a.txt"; 256]})).expect("256 are allowed");
    let structured = output.structured.expect("it has one");
    assert_eq!(structured["totals"]["bytes"], 256 * 12);
    assert_eq!(structured["totals"]["complete"], true);
}

#[test]
fn tells_files_with_their_sizes() {
    check(
        &["a.txt", "/workspace/link"],
        &json!({
            "entries": [
                {"requestedPath": "a.txt", "resolvedPath": "/workspace/a.txt", "status": "file",
                 "sizeKnown": true, "sizeBytes": 12},
                {"requestedPath": "/workspace/link", "resolvedPath": "/workspace/a.txt",
                 "status": "file", "sizeKnown": true, "sizeBytes": 12},
            ],
            "totals": {"requested": 2, "files": 2, "directories": 0, "others": 0, "missing": 0,
                "errors": 0, "bytes": 24, "unknownSizes": 0, "complete": true},
        }),
        "<file-info requested=\"2\" files=\"2\" directories=\"0\" others=\"0\" missing=\"0\" \
         errors=\"0\" bytes=\"24\" unknown-sizes=\"0\" complete=\"true\">\n\
         <file path=\"a.txt\" resolved=\"/workspace/a.txt\" bytes=\"12\"/>\n\
         <file path=\"/workspace/link\" resolved=\"/workspace/a.txt\" bytes=\"12\"/>\n\
         </file-info>",
    );
}

#[test]
fn tells_what_is_no_file_of_known_size() {
    check(
        &["src", "pipe", "gone", "odd", "loop", "nul", "/etc/passwd"],
        &json!({
            "entries": [
                {"requestedPath": "src", "resolvedPath": "/workspace/src", "status": "directory",
                 "sizeKnown": false},
                {"requestedPath": "pipe", "resolvedPath": "/workspace/pipe", "status": "other",
                 "sizeKnown": false},
                {"requestedPath": "gone", "resolvedPath": "gone", "status": "missing",
                 "sizeKnown": false},
                {"requestedPath": "odd", "resolvedPath": "/workspace/odd", "status": "file",
                 "sizeKnown": false, "note": "the size is UNKNOWN"},
                {"requestedPath": "loop", "resolvedPath": "loop", "status": "error",
                 "sizeKnown": false, "note": "too many links"},
                {"requestedPath": "nul", "resolvedPath": "nul", "status": "error",
                 "sizeKnown": false, "note": "it holds a NUL"},
                {"requestedPath": "/etc/passwd", "resolvedPath": "/etc/passwd", "status": "error",
                 "sizeKnown": false, "note": "not covered by what this plugin may look at"},
            ],
            "totals": {"requested": 7, "files": 1, "directories": 1, "others": 1, "missing": 1,
                "errors": 3, "bytes": 0, "unknownSizes": 1, "complete": false},
        }),
        "<file-info requested=\"7\" files=\"1\" directories=\"1\" others=\"1\" missing=\"1\" \
         errors=\"3\" bytes=\"0\" unknown-sizes=\"1\" complete=\"false\">\n\
         warning: bytes is partial, it counts only files of known size\n\
         <directory path=\"src\" resolved=\"/workspace/src\"/>\n\
         <other path=\"pipe\" resolved=\"/workspace/pipe\"/>\n\
         <missing path=\"gone\"/>\n\
         <file path=\"odd\" resolved=\"/workspace/odd\" bytes=\"unknown\" note=\"the size is UNKNOWN\"/>\n\
         <error path=\"loop\" note=\"too many links\"/>\n\
         <error path=\"nul\" note=\"it holds a NUL\"/>\n\
         <error path=\"/etc/passwd\" note=\"not covered by what this plugin may look at\"/>\n\
         </file-info>",
    );
}

#[test]
fn a_path_cannot_forge_an_entry() {
    let path = "x\"/>\n<file path=\"y & z";
    let text = run(&json!({ "paths": [path] })).expect("it is a path").text;
    let entry = text.lines().nth(2).expect("an entry");
    assert_eq!(
        entry,
        "<missing path=\"x&quot;/&gt;&#10;&lt;file path=&quot;y &amp; z\"/>"
    );
}

#[test]
fn sums_saturate() {
    let output = run(&json!({"paths": ["big", "big"]})).expect("they are files");
    let structured = output.structured;
    assert_eq!(structured.expect("it has one")["totals"]["bytes"], u64::MAX);
}

#[test]
fn asks_for_the_workspace_alone() {
    let manifest: Value = serde_json::from_str(&super::manifest()).expect("it is JSON");
    assert_eq!(manifest["id"], "damper/file-info");
    assert_eq!(manifest["hooks"], json!(["tool"]));
    assert_eq!(
        manifest["grants"],
        json!({"files": {"metadata": ["workspace"]}})
    );
    assert_eq!(manifest["limits"], json!({}));
    assert_eq!(manifest["config_schema"]["additionalProperties"], false);
}
