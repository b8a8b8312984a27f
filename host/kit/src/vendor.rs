//! The SDK as a crate that stands alone, for projects that have no checkout of this one.

use include_dir::{Dir, include_dir};
use toml_edit::{DocumentMut, Item, TableLike, TomlError, Value};

/// The sources of the SDK.
pub(crate) static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk");

/// The workspace that the SDK inherits from.
pub(crate) const WORKSPACE: &str = include_str!("../../../plugins/Cargo.toml");

/// The versions that the SDK is tested with.
pub(crate) const LOCK: &str = include_str!("../../../plugins/Cargo.lock");

/// Why the manifest of a crate cannot stand alone.
#[derive(Debug, thiserror::Error)]
pub enum VendorError {
    /// It is no TOML.
    #[error("a manifest that is built in does not parse: {0}")]
    Syntax(#[from] TomlError),
    /// The workspace lacks what the crate takes from it.
    #[error("the workspace that is built in has no `{0}`, which the SDK takes from it")]
    Missing(String),
}

/// Returns a crate's manifest with everything that it inherits from a workspace written out.
pub(crate) fn standalone(package: &str, workspace: &str) -> Result<String, VendorError> {
    let mut document: DocumentMut = package.parse()?;
    let workspace: DocumentMut = workspace.parse()?;
    let shared = table(workspace.as_item(), "workspace")?;
    if let Some(package) = document.get_mut("package").and_then(as_table) {
        package.remove("workspace");
        write_out(package, table_of(shared, "package")?)?;
    }
    if let Some(lints) = document.get_mut("lints")
        && inherits(lints)
    {
        let all = shared.get("lints");
        *lints = all.cloned().ok_or_else(|| missing("lints"))?;
    }
    let dependencies = table_of(shared, "dependencies")?;
    write_out_dependencies(document.as_table_mut(), dependencies)?;
    if let Some(targets) = document.get_mut("target").and_then(as_table) {
        for (_platform, target) in targets.iter_mut() {
            if let Some(target) = as_table(target) {
                write_out_dependencies(target, dependencies)?;
            }
        }
    }
    Ok(document.to_string())
}

fn write_out_dependencies(
    table: &mut dyn TableLike,
    shared: &dyn TableLike,
) -> Result<(), VendorError> {
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        if let Some(dependencies) = table.get_mut(kind).and_then(as_table) {
            write_out(dependencies, shared)?;
        }
    }
    Ok(())
}

/// Replaces each `key.workspace = true` by what the workspace says of the key. What the crate
/// says beside that stays.
fn write_out(table: &mut dyn TableLike, shared: &dyn TableLike) -> Result<(), VendorError> {
    let inherited: Vec<String> = table
        .iter()
        .filter(|(_key, item)| inherits(item))
        .map(|(key, _item)| key.to_owned())
        .collect();
    for key in inherited {
        let item = shared.get(&key).ok_or_else(|| missing(&key))?;
        let value = item.clone().into_value().map_err(|_item| missing(&key))?;
        let own = table.remove(&key);
        table.insert(&key, Item::Value(merged(value, own.as_ref())));
    }
    Ok(())
}

fn merged(shared: Value, own: Option<&Item>) -> Value {
    let own: Vec<(&str, &Item)> = own
        .and_then(Item::as_table_like)
        .map(|own| own.iter().filter(|(key, _)| *key != "workspace").collect())
        .unwrap_or_default();
    if own.is_empty() {
        return shared;
    }
    let mut whole = if let Value::InlineTable(table) = shared {
        table
    } else {
        toml_edit::InlineTable::from_iter([("version", shared)])
    };
    for (key, item) in own {
        let Some(value) = item.as_value() else {
            continue;
        };
        match (whole.get_mut(key), value) {
            // Cargo adds the features of both.
            (Some(Value::Array(all)), Value::Array(more)) => {
                all.extend(more.iter().cloned());
                all.fmt();
            }
            _ => {
                whole.insert(key, value.clone());
            }
        }
    }
    whole.fmt();
    Value::InlineTable(whole)
}

fn inherits(item: &Item) -> bool {
    let of_workspace = item.as_table_like().and_then(|own| own.get("workspace"));
    of_workspace.and_then(Item::as_bool) == Some(true)
}

fn as_table(item: &mut Item) -> Option<&mut dyn TableLike> {
    item.as_table_like_mut()
}

fn table<'a>(item: &'a Item, key: &str) -> Result<&'a dyn TableLike, VendorError> {
    let found = item.get(key).and_then(Item::as_table_like);
    found.ok_or_else(|| missing(key))
}

fn table_of<'a>(table: &'a dyn TableLike, key: &str) -> Result<&'a dyn TableLike, VendorError> {
    let found = table.get(key).and_then(Item::as_table_like);
    found.ok_or_else(|| missing(key))
}

fn missing(key: &str) -> VendorError {
    VendorError::Missing(key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{SDK, WORKSPACE, standalone};

    const SHARED: &str = r#"
        [workspace.package]
        version = "1.2.3"
        [workspace.lints.rust]
        unsafe_code = "deny"
        [workspace.dependencies]
        plain = "1"
        rich = { version = "2", features = ["a"] }
    "#;

    #[track_caller]
    fn check(package: &str, expected: &str) {
        let written = standalone(package, SHARED).unwrap();
        assert_eq!(written.trim(), expected);
        let parsed: toml_edit::DocumentMut = written.parse().unwrap();
        assert!(!parsed.to_string().contains("workspace"), "{parsed}");
    }

    #[test]
    fn writes_out_what_a_crate_inherits() {
        check(
            "[package]\nname = \"x\"\nworkspace = \"..\"\nversion.workspace = true",
            "[package]\nname = \"x\"\nversion = \"1.2.3\"",
        );
        check(
            "[dependencies]\nplain.workspace = true\nown = \"3\"",
            "[dependencies]\nown = \"3\"\nplain = \"1\"",
        );
        check(
            "[target.'cfg(unix)'.dependencies]\nrich = { workspace = true, features = [\"b\"], optional = true }",
            "[target.'cfg(unix)'.dependencies]\nrich = { version = \"2\", features = [\"a\", \"b\"], optional = true }",
        );
        check(
            "[lints]\nworkspace = true",
            "[lints.rust]\n        unsafe_code = \"deny\"",
        );
    }

    #[test]
    fn a_key_that_the_workspace_lacks_is_named() {
        let error = standalone("[dependencies]\ngone.workspace = true", SHARED).unwrap_err();
        assert!(error.to_string().contains("`gone`"), "{error}");
    }

    #[test]
    fn the_sdk_stands_alone() {
        let manifest = SDK.get_file("Cargo.toml").unwrap();
        let written = standalone(manifest.contents_utf8().unwrap(), WORKSPACE).unwrap();
        assert!(!written.contains("workspace"), "{written}");
        assert!(!written.contains("path ="), "{written}");
    }
}
