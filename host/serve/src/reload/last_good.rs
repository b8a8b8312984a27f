//! The last good composition and its components, by digest: what a start with a broken profile
//! or plugin runs on.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs, io,
    path::PathBuf,
};

use damper_call::{Digest, RowId};
use damper_dispatch::{Captured, Components, Fallback, Generation, Running};
use damper_profile::{Composition, RowKind, Source, compose};

use crate::home::{Home, write_private};

fn profile_file(home: &Home) -> PathBuf {
    home.last_good().join("profile.yaml")
}

fn digests_file(home: &Home) -> PathBuf {
    home.last_good().join("digests.json")
}

fn component_file(home: &Home, digest: &Digest) -> PathBuf {
    home.last_good().join(format!("{}.wasm", digest.to_hex()))
}

/// Keeps what runs now. A failure is logged: the host runs on, only its next start is less safe.
pub(super) fn keep(
    home: &Home,
    composition: &Composition,
    generation: &Generation,
    components: &Components,
) {
    if let Err(error) = try_keep(home, composition, generation, components) {
        tracing::error!(%error, "cannot keep the last good composition");
    }
}

fn try_keep(
    home: &Home,
    composition: &Composition,
    generation: &Generation,
    components: &Components,
) -> io::Result<()> {
    let mut digests: BTreeMap<RowId, Digest> = BTreeMap::new();
    let mut rows = Vec::new();
    for row in &generation.rows {
        if let Running::Nothing = row.running
            && !row.row.disabled
        {
            continue;
        }
        rows.push(row.row.clone());
        let Some(digest) = row.digest() else { continue };
        digests.insert(row.id.clone(), digest);
        let file = component_file(home, &digest);
        let bytes = components
            .0
            .values()
            .flatten()
            .find(|captured| captured.digest == digest);
        if let Some(captured) = bytes
            && !file.exists()
        {
            write_private(&file, &captured.bytes().map_err(io::Error::other)?)?;
        }
    }
    let running = Composition {
        rows,
        rejected: Vec::new(),
        ..composition.clone()
    };
    write_private(&digests_file(home), &serde_json::to_vec(&digests)?)?;
    write_private(&profile_file(home), running.show().as_bytes())?;
    forget_others(home, &digests.values().copied().collect())
}

/// Removes components that no row ran last.
fn forget_others(home: &Home, kept: &HashSet<Digest>) -> io::Result<()> {
    let kept: HashSet<PathBuf> = kept
        .iter()
        .map(|digest| component_file(home, digest))
        .collect();
    for entry in fs::read_dir(home.last_good())? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
            && !kept.contains(&path)
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Returns the composition that ran last, `None` if none ever did.
pub(super) fn composition(home: &Home) -> Result<Option<Composition>, String> {
    let path = profile_file(home);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("`{}`: {error}", path.display())),
    };
    compose(&Source::at(&path, &bytes), &[])
        .map(Some)
        .map_err(|error| error.to_string())
}

/// Returns the rows that ran last with the components that they ran.
pub(super) fn rows(home: &Home) -> Result<Fallback, String> {
    let Some(composition) = composition(home)? else {
        return Ok(Fallback::default());
    };
    let path = digests_file(home);
    let text = fs::read(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let digests: BTreeMap<RowId, Digest> =
        serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let mut rows = HashMap::new();
    for row in composition.rows {
        let captured = match row.kind {
            RowKind::Plugin(_) => digests.get(&row.id).map(|digest| captured(home, digest)),
            RowKind::Tools(_) => None,
        };
        rows.insert(row.id.clone(), (row, captured));
    }
    Ok(Fallback(rows))
}

/// Returns a kept component, which is read and checked only if it is needed.
fn captured(home: &Home, digest: &Digest) -> Captured {
    Captured {
        path: component_file(home, digest),
        digest: *digest,
        bytes: None,
    }
}
