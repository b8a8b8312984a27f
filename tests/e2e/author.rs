//! What an author of plugins does: begin, build, test, check and look, with nothing but the
//! binary and a Rust toolchain.

use std::{
    fs,
    io::BufRead as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
};

use damper_tests::{Host, Piped, Ran, guest, root};

/// What the SDK has templates for at work.
const KINDS: [(&str, &str); 4] = [
    ("guard", "no-force"),
    ("tool", "word-count"),
    ("preset", "reader"),
    ("persona", "colleague"),
];

/// All projects are compiled into one folder, so that the SDK is compiled once.
fn target_folder() -> PathBuf {
    root().join("target/author")
}

/// Cargo would wait for itself on that folder; waiting here says which test does.
static BUILDING: Mutex<()> = Mutex::new(());

/// Runs `damper plugin` in a folder, without a network.
fn plugin(host: &Host, folder: &Path, arguments: &[&str]) -> Ran {
    let output = host
        .command()
        .arg("plugin")
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target_folder())
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_new_plugin_passes_its_test_builds_and_runs_as_it_is() {
    let _one_at_a_time = BUILDING.lock();
    let mut host = Host::stopped();
    let mut rows = String::new();
    for (kind, name) in KINDS {
        let id = format!("acme/{name}");
        let made = plugin(&host, host.work(), &["new", &id, "--kind", kind]);
        assert_eq!(made.code, 0, "{made:?}");
        let project = host.work().join(name);

        let tested = Command::new("cargo")
            .args(["test", "--offline"])
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", target_folder())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&tested.stdout);
        let complaint = String::from_utf8_lossy(&tested.stderr);
        assert!(tested.status.success(), "{kind}: {printed}{complaint}");
        assert!(printed.contains("2 passed"), "{kind}: {printed}");
        assert!(!complaint.contains("warning"), "{kind}: {complaint}");

        let cases = plugin(&host, &project, &["test", "--json"]);
        assert_eq!(cases.code, 0, "{kind}: {cases:?}");
        assert!(cases.json().as_array().unwrap().len() >= 2, "{cases:?}");

        let built = plugin(&host, &project, &["build", "--json", "--out", "out"]);
        assert_eq!(built.code, 0, "{built:?}");
        let built = built.json();
        assert_eq!(built[0]["hooks"][0], kind);
        assert_eq!(built[0]["manifest"]["id"], id.as_str());
        assert_eq!(built[0]["findings"].as_array().unwrap().len(), 0, "{built}");

        let file = project.join("out").join(format!("{name}.wasm"));
        let checked = plugin(&host, &project, &["check", file.to_str().unwrap()]);
        assert_eq!(checked.code, 0, "{checked:?}");
        assert!(checked.stdout.contains(": fine"), "{checked:?}");
        rows += &format!("    - id: {name}\n      plugin: {}\n", file.display());
    }
    host.write_patch(&format!("- insert:\n{rows}"));
    host.serve();
    let counted = host.call("word_count", &serde_json::json!({"text": "one two"}));
    assert!(counted.to_string().contains("2 words"), "{counted}");
    let denied = host.bash("echo --force");
    assert_eq!(denied["ending"], "denied", "{denied}");
    assert!(denied.to_string().contains("it says `--force`"), "{denied}");
    assert_eq!(host.bash("echo")["ending"], "completed");
}

#[test]
fn an_author_finds_the_component_and_all_it_says() {
    let _one_at_a_time = BUILDING.lock();
    let host = Host::stopped();
    plugin(&host, host.work(), &["new", "told", "--kind", "guard"]);
    let built = plugin(&host, host.work(), &["build", "told"]);
    assert_eq!(built.code, 0, "{built:?}");
    let file = target_folder().join("damper/told.wasm");
    for part in [
        &format!("{}", file.display()),
        "local/told 0.1.0",
        "hooks    guard",
        "grants   none asked",
        "digest   sha256:",
    ] {
        assert!(built.stdout.contains(part), "{part}: {built:?}");
    }
    let inspected = plugin(&host, host.work(), &["inspect", file.to_str().unwrap()]);
    assert!(inspected.stdout.contains("list of string"), "{inspected:?}");
    assert!(
        inspected.stdout.contains("The words that need a person."),
        "{inspected:?}"
    );

    let own = host.home().join("plugins/local");
    fs::create_dir_all(&own).unwrap();
    fs::copy(&file, own.join("told.wasm")).unwrap();
    host.write_patch("- insert:\n    - id: told-row\n      plugin: local/told\n");
    let listed = plugin(&host, host.work(), &["list", "--json"]).json();
    let listed = listed.as_array().unwrap();
    let found = listed
        .iter()
        .find(|plugin| plugin["id"] == "local/told")
        .unwrap();
    assert_eq!(found["found"], "own");
    assert_eq!(found["rows"], serde_json::json!(["told-row"]));
    let shipped = listed
        .iter()
        .find(|plugin| plugin["id"] == "damper/approval-gate")
        .unwrap();
    assert_eq!(shipped["found"], "shipped");
    let by_id = plugin(&host, host.work(), &["inspect", "local/told", "--json"]).json();
    assert_eq!(by_id["manifest"]["id"], "local/told");
    let missing = plugin(&host, host.work(), &["inspect", "local/gone"]);
    assert_eq!(missing.code, 6, "{missing:?}");
}

/// Returns the examples of `docs/testing-plugins.md`, a line each.
fn documented_cases() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/testing-plugins.md")).unwrap();
    let is_case = |line: &&str| line.starts_with("{\"name\"");
    text.lines().filter(is_case).map(str::to_owned).collect()
}

/// Makes the project of a plugin with every hook, without cases.
fn every_hook(host: &Host) -> PathBuf {
    let made = plugin(
        host,
        host.work(),
        &["new", "acme/every-hook", "--kind", "tool"],
    );
    assert_eq!(made.code, 0, "{made:?}");
    let project = host.work().join("every-hook");
    let source = include_str!("author/every_hook.rs");
    fs::write(project.join("src/lib.rs"), source).unwrap();
    fs::remove_dir_all(project.join("cases")).unwrap();
    project
}

#[test]
fn the_documented_cases_pass_for_every_hook_and_wrong_ones_do_not() {
    let _one_at_a_time = BUILDING.lock();
    let host = Host::stopped();
    let project = every_hook(&host);
    let none = plugin(&host, &project, &["test"]);
    assert_eq!(none.code, 1, "{none:?}");
    assert!(none.stderr.contains("there are no cases"), "{none:?}");

    fs::create_dir(project.join("cases")).unwrap();
    let cases = project.join("cases/documented.jsonl");
    fs::write(&cases, documented_cases().join("\n")).unwrap();
    let ran = plugin(&host, &project, &["test", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let results = ran.json();
    let results = results.as_array().unwrap();
    for hook in [
        "guard",
        "catalogue",
        "preset",
        "persona",
        "tool",
        "message",
        "approval",
        "result",
        "session",
    ] {
        assert!(results.iter().any(|case| case["hook"] == hook), "{hook}");
    }

    check_wrong_cases(&host, &project, &cases);
}

/// Checks that a case of each hook which expects something else fails, and says what came.
#[track_caller]
fn check_wrong_cases(host: &Host, project: &Path, cases: &Path) {
    let wrong: [(&str, &str, &str); 9] = [
        (
            "guard",
            r#"{"verdict": "allow"}"#,
            r#"verdict: expected "allow", got "ask""#,
        ),
        ("catalogue", r#"{"withheld": []}"#, "withheld: expected []"),
        ("preset", r#"{"kinds": []}"#, r#"kinds: expected [], got ["#),
        (
            "persona",
            r#"{"sections": {"house": null}}"#,
            "sections: expected",
        ),
        (
            "tool",
            r#"{"failure": "limit"}"#,
            r#"failure: expected "limit", got nothing"#,
        ),
        (
            "message",
            r#"{"delivery": "interrupt-first"}"#,
            r#"got "deliver""#,
        ),
        (
            "approval",
            r#"{"route": "root-session"}"#,
            r#"got "nobody""#,
        ),
        ("result", r#"{"disposition": "annotate"}"#, r#"got "keep""#),
        ("session", r#"{"notices": []}"#, r#"got ["welcome, "]"#),
    ];
    let lines = wrong.iter().map(|(hook, expect, _)| {
        let call = match *hook {
            "tool" => r#"{"tool": "count_bytes", "paths": ["."]}"#,
            _ => r#"{"tool": "bash", "command": "x --force"}"#,
        };
        format!(
            r#"{{"name": "wrong {hook}", "hook": "{hook}", "call": {call}, "mail": {{"text": ""}}, "expect": {expect}}}"#
        )
    });
    fs::write(cases, lines.collect::<Vec<_>>().join("\n")).unwrap();
    let ran = plugin(host, project, &["test"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("0 of 9 cases passed"), "{ran:?}");
    for (index, (hook, _, difference)) in wrong.iter().enumerate() {
        let place = format!("cases/documented.jsonl:{}  wrong {hook}", index + 1);
        assert!(ran.stdout.contains(&place), "{place}: {ran:?}");
        assert!(ran.stdout.contains(difference), "{difference}: {ran:?}");
    }
    let one = plugin(host, project, &["test", "--filter", "wrong gu"]);
    assert!(one.stdout.contains("0 of 1 cases passed"), "{one:?}");
}

#[test]
fn says_where_and_why_a_case_makes_no_sense() {
    let _one_at_a_time = BUILDING.lock();
    let host = Host::stopped();
    let project = every_hook(&host);
    fs::create_dir(project.join("cases")).unwrap();
    let call = r#""call": {"tool": "bash"}"#;
    let table = [
        ("{", "is no case"),
        (r#"{"name": "x", "expects": {}}"#, "unknown field `expects`"),
        (
            &format!(r#"{{"name": "x", {call}, "expect": {{"verdict": "ask"}}}}"#),
            "say which with",
        ),
        (
            r#"{"name": "x", "hook": "guard", "expect": {"verdict": "ask"}}"#,
            "needs `call`",
        ),
        (
            &format!(r#"{{"name": "x", "hook": "guard", {call}, "expect": {{}}}}"#),
            "could not fail",
        ),
        (
            &format!(r#"{{"name": "x", "hook": "guard", {call}, "expect": {{"withheld": []}}}}"#),
            "it answers `verdict`",
        ),
        (
            &format!(r#"{{"name": "x", "hook": "tool", {call}, "expect": {{"text": ""}}}}"#),
            "it has `count_bytes`",
        ),
        (
            r#"{"name": "x", "hook": "preset", "files": {"../x": ""}, "expect": {"keep": []}}"#,
            "relative to the workspace",
        ),
    ];
    for (line, part) in table {
        fs::write(project.join("cases/x.jsonl"), format!("\n{line}\n")).unwrap();
        let ran = plugin(&host, &project, &["test"]);
        assert_eq!(ran.code, 1, "{line}: {ran:?}");
        assert!(ran.stderr.contains("cases/x.jsonl:2: "), "{line}: {ran:?}");
        assert!(ran.stderr.contains(part), "{line}: {ran:?}");
    }
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let host = Host::stopped();
    fs::create_dir(host.work().join("mine")).unwrap();
    fs::write(host.work().join("mine/notes"), "mine").unwrap();
    let refused = plugin(&host, host.work(), &["new", "mine", "--kind", "tool"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(refused.stderr.contains("--path"), "{refused:?}");
    let files = fs::read_dir(host.work().join("mine")).unwrap().count();
    assert_eq!(files, 1);
    let misnamed = plugin(&host, host.work(), &["new", "../up", "--kind", "tool"]);
    assert_eq!(misnamed.code, 5, "{misnamed:?}");
}

/// Checks that a file is refused with these words, and that they name this way out.
#[track_caller]
fn check_refused(host: &Host, bytes: &[u8], what: &str, way_out: &str) {
    let file = host.work().join("broken.wasm");
    fs::write(&file, bytes).unwrap();
    let checked = plugin(host, host.work(), &["check", file.to_str().unwrap()]);
    assert_eq!(checked.code, 5, "{what}: {checked:?}");
    assert!(checked.stdout.contains(what), "{what}: {checked:?}");
    assert!(checked.stdout.contains(way_out), "{way_out}: {checked:?}");
}

#[test]
fn says_what_is_wrong_with_a_file_and_the_way_out() {
    let host = Host::stopped();
    let good = fs::read(guest("allow-guard")).unwrap();
    let manifest = &good[manifest_start(&good)..];
    let twice = [good.as_slice(), manifest].concat();
    let nested = nested(manifest, 100);
    let table: [(&[u8], &str, &str); 8] = [
        (b"", "is not a WebAssembly file", "is empty"),
        (b"<!doctype html>", "is not a WebAssembly file", "web page"),
        (b"hello", "is not a WebAssembly file", "name the component"),
        (b"\0asm\x01\0\0\0", "is a core module", "plugin build"),
        (b"\0asm\x0d\0\x01\0", "has no manifest", "plugin build"),
        (&good[..good.len() / 2], "is damaged", "cut off"),
        (&twice, "has two manifests", "build it anew"),
        (&nested, "more than 32 deep", "build it anew"),
    ];
    for (bytes, what, way_out) in table {
        check_refused(&host, bytes, what, way_out);
    }
    // It has no content: reading it would find an empty page 50,000 times.
    let large = host.work().join("large.wasm");
    let file = fs::File::create(&large).unwrap();
    file.set_len(200 << 20).unwrap();
    let checked = plugin(&host, host.work(), &["check", "large.wasm"]);
    assert_eq!(checked.code, 5, "{checked:?}");
    assert!(checked.stdout.contains("is 200 MiB large"), "{checked:?}");
    assert!(!checked.stdout.contains("digest"), "{checked:?}");
    let gone = plugin(&host, host.work(), &["check", "gone.wasm", "--json"]);
    assert_eq!(gone.code, 6, "{gone:?}");
    assert_eq!(gone.json()[0]["verdict"], "refused");
}

#[test]
fn says_what_a_component_wants_that_this_host_does_not_have() {
    let host = Host::stopped();
    let gate = fs::read(guest("approval-gate")).unwrap();
    let table: [(&str, &str, &str, &str); 3] = [
        (
            "damper:plugin/types@1.0.0",
            "damper:plugin/types@2.0.0",
            "another major version",
            "SDK of this host",
        ),
        (
            "[method]call.command",
            "[method]call.commune",
            "imports `call.commune`",
            "newer than this host",
        ),
        (
            "wasi:cli/stderr@",
            "wasi:sqi/stderr@",
            "imports `wasi:sqi/stderr@",
            "WASI",
        ),
    ];
    for (from, to, what, way_out) in table {
        let changed = replaced(&gate, from.as_bytes(), to.as_bytes());
        check_refused(&host, &changed, what, way_out);
    }
    let fine = guest("approval-gate");
    let fine = plugin(&host, host.work(), &["check", fine.to_str().unwrap()]);
    assert_eq!(fine.code, 0, "{fine:?}");
}

/// Replaces a name everywhere by one of the same length, which keeps the file's shape.
fn replaced(component: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = component.to_vec();
    let places: Vec<usize> = (0..bytes.len() - from.len())
        .filter(|start| bytes[*start..].starts_with(from))
        .collect();
    assert!(!places.is_empty(), "the component does not hold the name");
    for start in places {
        bytes[start..start + to.len()].copy_from_slice(to);
    }
    bytes
}

/// Returns where the last section begins, which is the manifest.
fn manifest_start(component: &[u8]) -> usize {
    let name = b"damper:manifest";
    let at = (0..component.len() - name.len())
        .rev()
        .find(|start| component[*start..].starts_with(name))
        .unwrap();
    // Before the name stand its length, that of the section, and the section's id.
    (1..at)
        .rev()
        .find(|start| component[*start] == 0 && at - start <= 6)
        .unwrap()
}

/// Returns components in one another, with a manifest at the end.
fn nested(manifest: &[u8], depth: usize) -> Vec<u8> {
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    for _ in 0..depth {
        let mut outer = b"\0asm\x0d\0\x01\0\x04".to_vec();
        let mut length = component.len();
        while length >= 0x80 {
            outer.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend(component);
        component = outer;
    }
    component.extend(manifest);
    component
}

#[test]
fn a_plugin_runs_while_it_is_written_and_tells_its_verdicts() {
    let _one_at_a_time = BUILDING.lock();
    let host = Host::start();
    let made = plugin(
        &host,
        host.work(),
        &["new", "acme/live-guard", "--kind", "guard"],
    );
    assert_eq!(made.code, 0, "{made:?}");
    let project = host.work().join("live-guard");
    let refused = plugin(&host, &project, &["dev"]);
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    let mut command = host.command();
    command
        .args(["plugin", "dev", "--yes", "--remove"])
        .current_dir(&project)
        .env("CARGO_TARGET_DIR", target_folder())
        .env("CARGO_NET_OFFLINE", "true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut dev = Piped::new(&mut command);
    line_with(&mut dev, "watching the sources");
    assert_eq!(host.bash("echo --force")["ending"], "denied");
    assert!(line_with(&mut dev, "ask ").contains("word"));

    let first = host.row("live-guard")["digest_running"].clone();
    let source = project.join("src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(
        &source,
        text.replace("it says `{word}`", "it shouts `{word}`"),
    )
    .unwrap();
    line_with(&mut dev, "live-guard           running");
    assert_ne!(host.row("live-guard")["digest_running"], first);
    let denied = host.bash("echo --force");
    let text = denied["text"].as_str().unwrap();
    assert!(text.contains("it shouts"), "{text}");

    dev.interrupt();
    assert!(dev.output().stdout.contains("the row `live-guard` is gone"));
    let patch = fs::read_to_string(host.patch_file()).unwrap();
    assert!(!patch.contains("live-guard"), "{patch}");
}

/// Reads what a command prints up to a line that holds a text.
fn line_with(command: &mut Piped, expected: &str) -> String {
    let mut line = String::new();
    while !line.contains(expected) {
        line.clear();
        let read = command.stdout.read_line(&mut line).unwrap();
        assert!(read > 0, "the command ended before it said `{expected}`");
    }
    line
}
