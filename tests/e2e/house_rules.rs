//! The rules of the repository itself: which crate may know which, what each hook has, what
//! each item of the contract says, and what no file may hold.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use damper_dispatch::HOOKS;
use damper_tests::root;
use serde_json::Value;

/// The rooms by height: an arrow leads down, never up and never sideways. `serve` opens the
/// doors and so stands above them.
const ROOMS: [(&str, u8); 11] = [
    ("damper-call", 0),
    ("damper-profile", 1),
    ("damper-wasm", 1),
    ("damper-tools", 1),
    ("damper-journal", 1),
    ("damper-dispatch", 2),
    ("damper-door-mcp", 3),
    ("damper-kit", 3),
    ("damper-serve", 4),
    ("damper-cli", 5),
    ("damper-xtask", 5),
];

/// What only some may name, by how the dependency's name begins.
const KEPT: [(&str, &[&str]); 3] = [
    ("wasmtime", &["damper-wasm", "damper-tests"]),
    ("rusqlite", &["damper-journal", "damper-tests"]),
    ("rmcp", &["damper-door-mcp"]),
];

/// The crate of the tests, which may know everything.
const TESTS: &str = "damper-tests";

#[test]
fn arrows_between_rooms_lead_down() {
    let heights = BTreeMap::from(ROOMS);
    let crates = crates("Cargo.toml");
    for (name, dependencies) in &crates {
        if name == TESTS {
            continue;
        }
        let height = heights.get(name.as_str());
        let height = height.unwrap_or_else(|| panic!("`{name}` has no place among the rooms"));
        for dependency in dependencies {
            match heights.get(dependency.as_str()) {
                Some(below) => assert!(below < height, "`{name}` must not know `{dependency}`"),
                None => assert!(
                    !dependency.starts_with("damper-"),
                    "`{name}` must not know `{dependency}`"
                ),
            }
        }
    }
    for (room, _height) in ROOMS {
        assert!(crates.contains_key(room), "`{room}` is gone");
    }
}

#[test]
fn what_a_room_hides_is_named_by_it_alone() {
    let crates = crates("Cargo.toml");
    for (hidden, keepers) in KEPT {
        for (name, dependencies) in &crates {
            let names_it = dependencies
                .iter()
                .any(|dependency| dependency.starts_with(hidden));
            assert!(
                !names_it || keepers.contains(&name.as_str()),
                "`{name}` must not name `{hidden}`"
            );
        }
        assert!(
            crates[keepers[0]]
                .iter()
                .any(|dependency| dependency.starts_with(hidden))
        );
    }
}

#[test]
fn guests_know_the_sdk_and_the_contract_alone() {
    let crates = crates("plugins/Cargo.toml");
    assert!(
        crates["damper-guest"]
            .iter()
            .all(|dependency| !dependency.starts_with("damper"))
    );
    for (name, dependencies) in &crates {
        for dependency in dependencies {
            assert!(
                !dependency.starts_with("damper") || dependency == "damper-guest",
                "the guest `{name}` must not know `{dependency}`"
            );
        }
    }
}

/// Returns the crates of a workspace with the names of all they depend on, for whatever end.
fn crates(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .arg("--manifest-path")
        .arg(root().join(manifest))
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            (name(package), dependencies.iter().map(name).collect())
        })
        .collect()
}

#[test]
fn each_hook_has_its_contract_its_trait_its_hostile_guest_and_its_docs() {
    let sdk = texts_below("guest-sdk/src", "rs");
    let docs = fs::read_to_string(root().join("docs/hooks.md")).unwrap();
    for hook in HOOKS {
        let name = hook.name;
        let (interface, function) = name.split_once('.').unwrap();
        let functions = functions_of(interface);
        assert!(
            functions.contains(&function.to_owned()),
            "`{name}` is not in wit/"
        );
        let declared = format!("pub trait {}:", hook.sdk_trait);
        let declaring = sdk
            .iter()
            .find_map(|(_file, text)| text.split_once(&declared));
        let (_before, declared) =
            declaring.unwrap_or_else(|| panic!("the SDK lacks `{}`", hook.sdk_trait));
        let body = declared.split("\n}").next().unwrap();
        assert!(
            body.contains(&format!("fn {}(", function.replace('-', "_"))),
            "`{}` lacks `{function}`",
            hook.sdk_trait
        );
        let guest = root().join("tests/guests").join(hook.hostile_guest);
        assert!(guest.is_dir(), "`{name}` has no hostile guest");
        assert!(docs.contains(name), "docs/hooks.md lacks `{name}`");
        for said in [hook.asked, hook.answer, hook.edit_reaches, hook.failure] {
            assert!(!said.is_empty(), "`{name}` is described by halves");
        }
    }
}

#[test]
fn each_function_that_guests_export_is_in_the_table_of_hooks() {
    let worlds = fs::read_to_string(root().join("wit/worlds.wit")).unwrap();
    let exported = worlds
        .lines()
        .filter_map(|line| line.trim().strip_prefix("export "))
        .map(|export| export.trim_end_matches(';').trim_start_matches('%'));
    for interface in exported {
        // What a plugin says about itself and its settings is asked by nobody's call.
        if matches!(interface, "describe" | "configure") {
            continue;
        }
        for function in functions_of(interface) {
            let name = format!("{interface}.{function}");
            assert!(
                HOOKS.iter().any(|hook| hook.name == name),
                "`{name}` is not in the table of hooks"
            );
        }
    }
}

/// Returns the functions of an interface of the contract.
fn functions_of(interface: &str) -> Vec<String> {
    // `%` marks a name that is also a word of the language.
    let openings = ["", "%"].map(|mark| format!("interface {mark}{interface} {{"));
    let texts = texts_below("wit", "wit");
    let found = texts.iter().find_map(|(_file, text)| {
        let mut openings = openings.iter();
        openings.find_map(|opening| text.split_once(opening.as_str()))
    });
    let (_before, after) = found.unwrap_or_else(|| panic!("wit/ lacks `{interface}`"));
    let body = after.split("\n}").next().unwrap();
    body.lines()
        .filter_map(|line| line.trim().split_once(": func("))
        .map(|(name, _signature)| name.to_owned())
        .collect()
}

#[test]
fn nothing_blocks_a_thread_of_the_host_on_a_future() {
    // Where a process begins, and where the author's command asks its own component.
    let may = [
        "cli/src/commands.rs",
        "cli/src/commands/serve.rs",
        "wasm/src/hooks/describe.rs",
    ];
    for (file, text) in texts_below("host", "rs") {
        let file = file.display().to_string();
        let is_allowed = file.contains("kit/src")
            || !file.contains("/src/")
            || may.iter().any(|may| file.ends_with(may));
        assert!(
            is_allowed || !text.contains("block_on("),
            "{file} blocks a thread"
        );
    }
}

#[test]
fn each_item_of_the_contract_is_explained() {
    for (file, text) in texts_below("wit", "wit") {
        let mut is_explained = false;
        let mut parentheses = 0_usize;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let continues = parentheses > 0;
            if !line.starts_with("//") {
                parentheses += line.matches('(').count();
                parentheses -= line.matches(')').count();
            }
            if line.starts_with("///") {
                is_explained = true;
            } else if !line.starts_with('@') {
                assert!(
                    is_explained || continues || !is_item(line),
                    "{}:{}: `{line}` has no doc comment",
                    file.display(),
                    number + 1
                );
                is_explained = false;
            }
        }
    }
}

/// Returns whether a line of the contract begins something that has a meaning of its own.
fn is_item(line: &str) -> bool {
    let first = line.split([' ', ';']).next().unwrap_or_default();
    let is_plumbing = matches!(
        first,
        "package" | "use" | "include" | "import" | "export" | "//"
    );
    !is_plumbing && line.starts_with(|c: char| c.is_ascii_lowercase() || c == '%')
}

#[test]
fn each_guest_is_used_by_a_test_or_a_bench() {
    let mut uses = texts_below("tests/e2e", "rs");
    uses.extend(texts_below("tests/bench", "rs"));
    for entry in fs::read_dir(root().join("tests/guests")).unwrap() {
        let guest = entry.unwrap().file_name().into_string().unwrap();
        let is_used = uses.iter().any(|(_file, text)| text.contains(&guest));
        assert!(is_used, "nothing uses tests/guests/{guest}");
    }
}

#[test]
fn no_file_holds_a_path_of_a_developers_machine() {
    // Put together here, so that this file does not hold them.
    let mut paths = vec![
        ["", "root", ""].join("/"),
        ["", "Users", ""].join("/"),
        ["", ".cargo", "registry", "src"].join("/"),
    ];
    // A short path is found by chance.
    if root().components().count() > 2 {
        paths.push(format!("{}/", root().display()));
    }
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        listed.status.success(),
        "the files are those that git knows"
    );
    for file in String::from_utf8(listed.stdout)
        .unwrap()
        .split_terminator('\0')
    {
        // One that is removed and not yet committed, or is not text, holds no path to read.
        let Ok(text) = fs::read_to_string(root().join(file)) else {
            continue;
        };
        for path in &paths {
            assert!(!text.contains(path), "{file} holds `{path}`");
        }
    }
}

/// Returns the files below a folder whose names end so, with their texts.
fn texts_below(folder: &str, extension: &str) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    collect(&root().join(folder), extension, &mut texts);
    assert!(!texts.is_empty(), "{folder} holds no .{extension} file");
    texts
}

fn collect(folder: &Path, extension: &str, texts: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, extension, texts);
        } else if path.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&path).unwrap();
            texts.push((path, text));
        }
    }
}
