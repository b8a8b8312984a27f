//! What an author of plugins does: begin, build, test, check and look, with nothing but the
//! binary and a Rust toolchain.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use damper_tests::{Host, Ran, guest, root};

/// What the SDK has templates for at work.
const KINDS: [(&str, &str); 2] = [("guard", "no-force"), ("tool", "word-count")];

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

#[test]
fn says_what_is_wrong_with_a_file_and_the_way_out() {
    let host = Host::stopped();
    let good = fs::read(guest("allow-guard")).unwrap();
    let gate = fs::read(guest("approval-gate")).unwrap();
    let large = host.work().join("large.wasm");
    fs::File::create(&large)
        .unwrap()
        .set_len(200 << 20)
        .unwrap();
    let nested = nested(&good, 100);
    let twice = {
        let manifest = &good[manifest_start(&good)..];
        [good.as_slice(), manifest].concat()
    };
    let table: [(&str, Option<Vec<u8>>, &str, &str); 12] = [
        ("large", None, "is 200 MiB large", "in release"),
        (
            "empty",
            Some(Vec::new()),
            "is not a WebAssembly file",
            "is empty",
        ),
        (
            "page",
            Some(b"<!doctype html><html>".to_vec()),
            "is not a WebAssembly file",
            "web page",
        ),
        (
            "text",
            Some(b"hello".to_vec()),
            "is not a WebAssembly file",
            "name the component",
        ),
        (
            "module",
            Some(b"\0asm\x01\0\0\0".to_vec()),
            "is a core module",
            "plugin build",
        ),
        (
            "bare",
            Some(b"\0asm\x0d\0\x01\0".to_vec()),
            "has no manifest",
            "plugin build",
        ),
        (
            "cut",
            Some(good[..good.len() / 2].to_vec()),
            "is damaged",
            "cut off",
        ),
        ("twice", Some(twice), "has two manifests", "build it anew"),
        ("nested", Some(nested), "more than 32 deep", "build it anew"),
        (
            "major",
            Some(replaced(
                &good,
                b"damper:plugin/types@1.0.0",
                b"damper:plugin/types@2.0.0",
            )),
            "another major version",
            "SDK of this host",
        ),
        (
            "function",
            Some(replaced(
                &gate,
                b"[method]call.command",
                b"[method]call.commune",
            )),
            "imports `call.commune`",
            "newer than this host",
        ),
        (
            "network",
            Some(replaced(&good, b"wasi:cli/stderr@", b"wasi:sqi/stderr@")),
            "imports `wasi:sqi/stderr@",
            "WASI",
        ),
    ];
    for (name, bytes, what, way_out) in table {
        let file = host.work().join(format!("{name}.wasm"));
        if let Some(bytes) = bytes {
            fs::write(&file, bytes).unwrap();
        }
        let checked = plugin(&host, host.work(), &["check", file.to_str().unwrap()]);
        assert_eq!(checked.code, 5, "{name}: {checked:?}");
        assert!(checked.stdout.contains(what), "{name}: {checked:?}");
        assert!(checked.stdout.contains(way_out), "{name}: {checked:?}");
    }
    let gone = plugin(&host, host.work(), &["check", "gone.wasm", "--json"]);
    assert_eq!(gone.code, 6, "{gone:?}");
    assert_eq!(gone.json()[0]["verdict"], "refused");
    let fine = plugin(
        &host,
        host.work(),
        &["check", guest("allow-guard").to_str().unwrap()],
    );
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

/// Returns components in one another, with the manifest of a good one at the end.
fn nested(good: &[u8], depth: usize) -> Vec<u8> {
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
    component.extend(&good[manifest_start(good)..]);
    component
}
