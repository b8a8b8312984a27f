//! Plugins in languages without an SDK: the examples, from their sources to a verdict.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use damper_tests::{Host, Ran, damper, root};
use serde_json::json;

/// Returns what `tests/languages/setup.sh` says of a language: `Some` copy of its example with
/// all that its build needs. Without it, says so where everybody sees it; in CI that is a
/// failed test.
fn example(language: &str, into: &Path) -> Option<PathBuf> {
    let output = Command::new(root().join("tests/languages/setup.sh"))
        .arg(language)
        .arg(root().join("target/languages"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{complaints}");
    if let Some(why) = said.strip_prefix("missing ") {
        assert!(
            env::var_os("CI").is_none(),
            "the example in {language} cannot be built: {why}{complaints}"
        );
        // Not `eprintln!`, whose output a test that passes keeps to itself.
        let line = format!("SKIPPED: the example in {language}: {why}");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    let folder = into.join(format!("{language}-guard"));
    fs::create_dir(&folder).unwrap();
    let sources = root().join(format!("examples/{language}-guard"));
    for entry in fs::read_dir(sources).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    let packages = said.trim_end().strip_prefix("ready").unwrap().trim_start();
    if !packages.is_empty() {
        std::os::unix::fs::symlink(packages, folder.join("node_modules")).unwrap();
    }
    Some(folder)
}

/// Runs `damper plugin build` on a folder.
fn build(folder: &Path, out: &Path) -> Ran {
    let output = Command::new(damper())
        .args(["plugin", "build", "--workspace"])
        .arg(folder)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Builds the example of a language, loads it into a running host and has it judge.
fn check_example(language: &str, largest: u64) {
    let folder = tempfile::tempdir().unwrap();
    let Some(sources) = example(language, folder.path()) else {
        return;
    };
    let built = build(&sources, folder.path());
    assert_eq!(built.code, 0, "{built:?}");
    let component = folder.path().join(format!("{language}-guard.wasm"));
    let size = fs::metadata(&component).unwrap().len();
    assert!(size <= largest, "{size} bytes");

    let host = Host::start();
    let row = format!(
        "- insert:\n  - id: pushes\n    plugin: {}\n",
        component.display()
    );
    host.edit(&row);
    let row = host.row("pushes");
    assert_eq!(row["state"], "running", "{row}");

    let table = [
        ("echo git push --force", true),
        ("git push -f origin main", true),
        ("true; git push origin main --force", true),
        ("echo a; echo --force", false),
        ("echo git push origin main", false),
        ("echo git push --force-with-lease", false),
        ("echo git push; echo --force", false),
        ("echo git push größer -f", true),
    ];
    for (command, forbidden) in table {
        let report = host.bash(command);
        let expected = if forbidden { "denied" } else { "completed" };
        assert_eq!(report["ending"], expected, "{command}: {report}");
        let records = host.explain(report["call"].as_str().unwrap());
        let decided = records
            .iter()
            .find(|record| record["kind"] == "call/decided");
        let opinions = &decided.unwrap()["body"]["opinions"];
        let own = opinions
            .as_array()
            .unwrap()
            .iter()
            .find(|own| own["row"] == "pushes");
        let own = own.unwrap_or_else(|| panic!("`pushes` was not asked: {opinions}"));
        assert_eq!(
            own.to_string().contains("no-force-push"),
            forbidden,
            "{own}"
        );
    }
    // A call without a command is none of its business.
    fs::write(host.work().join("git push --force"), "").unwrap();
    let report = host.call("read", &json!({"file_path": "git push --force"}));
    assert_eq!(report["ending"], "completed", "{report}");
}

#[test]
fn a_guard_in_javascript_judges_calls() {
    check_example("js", 16 << 20);
}

#[test]
fn a_guard_in_c_judges_calls() {
    check_example("c", 64 << 10);
}
