//! Builds the guests of this repository, as `damper plugin build` does.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use damper_kit::{Built, build};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

fn build_into(out: &Path) -> Vec<Built> {
    build(&workspace(), out, &mut |_| {}).expect("the guests build")
}

fn components(built: &[Built]) -> BTreeMap<String, Vec<u8>> {
    let read = |built: &Built| {
        let component = fs::read(&built.path).expect("it was written");
        (built.name.clone(), component)
    };
    built.iter().map(read).collect()
}

#[test]
fn guests_become_components_that_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let first = build_into(&folder.path().join("first"));
    let components_first = components(&first);
    assert!(first.iter().all(|built| built.changed));

    let manifest = damper_wasm::read_manifest(&components_first["file-info"]).unwrap();
    assert_eq!(manifest.id, "damper/file-info");
    assert_eq!(manifest.hooks, [damper_wasm::Hook::Tool]);
    let manifest = damper_wasm::read_manifest(&components_first["hostile-nonsense"]).unwrap();
    assert_eq!(manifest.id, "test/hostile-nonsense");
    assert_eq!(manifest.hooks, [damper_wasm::Hook::Guard]);
    assert_eq!(
        manifest.config_schema["required"],
        serde_json::json!(["how"])
    );

    let again = build_into(&folder.path().join("first"));
    assert!(again.iter().all(|built| !built.changed), "{again:?}");

    fs::write(&first[0].path, "tampered").unwrap();
    let mended = build_into(&folder.path().join("first"));
    let changed: Vec<_> = mended.iter().filter(|built| built.changed).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(components(&mended), components_first);

    let elsewhere = build_into(&folder.path().join("elsewhere"));
    assert_eq!(
        components(&elsewhere),
        components_first,
        "the same sources, the same bytes"
    );
}
