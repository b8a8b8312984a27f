//! The contract for authors without an SDK: its text, and what C needs to speak it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use wit_bindgen_core::Files;

use crate::contract::{self, WIT};

/// Why there are no bindings.
#[derive(Debug, thiserror::Error)]
pub enum BindingsError {
    /// The contract has no such world.
    #[error("the contract has no world `{asked}`; it has {}", .known.join(", "))]
    NoWorld {
        /// The world that was asked for.
        asked: String,
        /// The worlds that there are.
        known: Vec<String>,
    },
    /// The contract that was built in is broken.
    #[error("the contract makes no bindings: {0:#}")]
    Contract(anyhow::Error),
    /// A file could not be written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Writes the text of the contract into a folder, for tools that read it themselves.
/// Returns the files.
///
/// # Errors
///
/// Names the file that could not be written.
pub fn write_wit(out: &Path) -> Result<Vec<PathBuf>, BindingsError> {
    let files = WIT
        .files()
        .map(|file| (file.path().to_owned(), file.contents()));
    write_all(out, files)
}

/// Writes a header, its source and an object file with the world's types into a folder, as
/// `wit-bindgen c` makes them. Returns the files.
///
/// Borrowed arguments are dropped when an export returns: a guest that forgets would trap.
///
/// # Errors
///
/// Says which worlds there are, or names the file that could not be written.
pub fn write_c(world: &str, out: &Path) -> Result<Vec<PathBuf>, BindingsError> {
    let (mut resolve, package) = contract::parse().map_err(BindingsError::Contract)?;
    let worlds = &resolve.packages[package].worlds;
    let Some(&world) = worlds.get(world) else {
        return Err(BindingsError::NoWorld {
            asked: world.to_owned(),
            known: worlds.keys().cloned().collect(),
        });
    };
    let options = wit_bindgen_c::Opts {
        autodrop_borrows: wit_bindgen_c::Enabled::Yes,
        ..wit_bindgen_c::Opts::default()
    };
    let mut files = Files::default();
    options
        .build()
        .generate(&mut resolve, world, &mut files)
        .map_err(BindingsError::Contract)?;
    let files = files
        .iter()
        .map(|(name, content)| (PathBuf::from(name), content));
    write_all(out, files)
}

/// Leaves files alone that are as they should be, so that a build sees no change.
fn write_all<'a>(
    out: &Path,
    files: impl Iterator<Item = (PathBuf, &'a [u8])>,
) -> Result<Vec<PathBuf>, BindingsError> {
    fs::create_dir_all(out).map_err(at(out))?;
    let mut written = Vec::new();
    for (name, content) in files {
        let path = out.join(name);
        if !fs::read(&path).is_ok_and(|present| present == content) {
            fs::write(&path, content).map_err(at(&path))?;
        }
        written.push(path);
    }
    Ok(written)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BindingsError + '_ {
    |source| BindingsError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{write_c, write_wit};

    #[test]
    fn writes_what_a_c_compiler_needs() {
        let folder = tempfile::tempdir().unwrap();
        let files = write_c("guard-plugin", folder.path()).unwrap();
        let names: Vec<_> = files.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(
            names,
            [
                "guard_plugin.c",
                "guard_plugin.h",
                "guard_plugin_component_type.o"
            ]
        );
        let header = fs::read_to_string(folder.path().join("guard_plugin.h")).unwrap();
        assert!(header.contains("void exports_damper_plugin_guard_check("));
    }

    #[test]
    fn names_the_worlds_that_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_c("gourd-plugin", folder.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`gourd-plugin`") && error.contains("guard-plugin"),
            "{error}"
        );
    }

    #[test]
    fn writes_the_contract_that_the_host_was_built_with() {
        let folder = tempfile::tempdir().unwrap();
        write_wit(folder.path()).unwrap();
        let worlds = fs::read_to_string(folder.path().join("worlds.wit")).unwrap();
        assert!(worlds.contains(&format!(
            "package damper:plugin@{};",
            damper_wasm::API_VERSION
        )));
    }
}
