//! Compiled code on disk, by content and engine. Only what this host sealed is loaded.

use std::{
    fs,
    hash::{Hash, Hasher},
    io::{self, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use damper_call::Digest;
use wasmtime::{Engine, component::Component};

/// Why the code cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder cannot be made or is open to others.
    #[error("code cache folder `{}`: {why}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Reading or writing an entry failed.
    #[error("code cache entry `{}`: {source}", .path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder of compiled components.
///
/// Loading compiled code is as dangerous as running a program, so an entry is loaded only
/// if its seal, a hash keyed with the host's key in a file beside it, fits its content and
/// its name. A torn,
/// stale or foreign entry has no such seal and counts as absent.
#[derive(Debug)]
pub(crate) struct CodeCache {
    folder: PathBuf,
    seal_key: [u8; 32],
    /// Identifies everything that shapes compiled code besides the component.
    engine_id: String,
}

/// What the cache has for a component.
pub(crate) enum Entry {
    /// Sound code.
    Component(Component),
    /// Nothing, or nothing that may be trusted.
    Absent,
    /// Code of this host's compiler that the engine does not take, and why.
    Unfit(String),
}

impl CodeCache {
    /// Opens the folder, making it if need be, for the owner alone.
    pub(crate) fn open(
        folder: &Path,
        host_key: &[u8; 32],
        engine: &Engine,
    ) -> Result<Self, CacheError> {
        let refused = |why: String| CacheError::Folder {
            folder: folder.to_owned(),
            why,
        };
        make_private(folder).map_err(|error| refused(error.to_string()))?;
        Ok(Self {
            folder: folder.to_owned(),
            seal_key: blake3::derive_key("damper code cache seal v1", host_key),
            engine_id: engine_id(engine),
        })
    }

    /// Returns where the compiler should put its output for a component: a name of its own in
    /// the same file system, so that it can be renamed into place.
    pub(crate) fn draft(&self) -> io::Result<tempfile::NamedTempFile> {
        tempfile::Builder::new()
            .prefix(".draft-")
            .tempfile_in(&self.folder)
    }

    /// Returns what the cache has for a component.
    pub(crate) fn load(&self, engine: &Engine, digest: &Digest) -> Result<Entry, CacheError> {
        let path = self.path(digest);
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Absent),
            Err(source) => return Err(CacheError::Entry { path, source }),
        };
        match self.is_sealed(digest, &file) {
            Ok(true) => Ok(deserialize(engine, &path)),
            Ok(false) => {
                tracing::warn!(entry = %path.display(), "code cache entry is torn, stale or foreign; compiling again");
                Ok(Entry::Absent)
            }
            Err(source) => Err(CacheError::Entry { path, source }),
        }
    }

    /// Seals compiled code and puts it in place; durable before it is visible.
    pub(crate) fn store(
        &self,
        digest: &Digest,
        code: tempfile::NamedTempFile,
    ) -> Result<(), CacheError> {
        let path = self.path(digest);
        let failed = |source| CacheError::Entry {
            path: path.clone(),
            source,
        };
        let seal = self.seal(digest, code.as_file()).map_err(failed)?;
        let mut seal_file = self.draft().map_err(failed)?;
        seal_file.write_all(seal.as_bytes()).map_err(failed)?;
        for file in [code.as_file(), seal_file.as_file()] {
            file.sync_all().map_err(failed)?;
        }
        // A seal without its code is harmless; code with an older seal counts as absent.
        seal_file
            .persist(seal_path(&path))
            .map_err(|error| failed(error.error))?;
        code.persist(&path).map_err(|error| failed(error.error))?;
        sync_folder(&self.folder).map_err(failed)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.folder
            .join(format!("{}-{}.cwasm", digest.to_hex(), self.engine_id))
    }

    fn seal(&self, digest: &Digest, mut code: &fs::File) -> io::Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new_keyed(&self.seal_key);
        hasher
            .update(digest.as_bytes())
            .update(self.engine_id.as_bytes());
        code.rewind()?;
        hasher.update_reader(code)?;
        Ok(hasher.finalize())
    }

    fn is_sealed(&self, digest: &Digest, code: &fs::File) -> io::Result<bool> {
        let found = match fs::read(seal_path(&self.path(digest))) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let Ok(found) = <[u8; 32]>::try_from(found) else {
            return Ok(false);
        };
        // blake3 compares hashes in constant time.
        Ok(self.seal(digest, code)? == blake3::Hash::from_bytes(found))
    }
}

fn seal_path(entry: &Path) -> PathBuf {
    entry.with_extension("seal")
}

#[expect(
    unsafe_code,
    reason = "loading compiled code is unsafe for bytes that this host did not compile"
)]
fn deserialize(engine: &Engine, path: &Path) -> Entry {
    // SAFETY: the seal proves that the bytes are what this host's compiler wrote. The file
    // is mapped; entries are only ever replaced by renaming, never rewritten, and the folder
    // is the owner's alone.
    match unsafe { Component::deserialize_file(engine, path) } {
        Ok(component) => Entry::Component(component),
        Err(error) => {
            let why = error.root_cause().to_string();
            tracing::warn!(entry = %path.display(), why, "code cache entry does not fit this engine");
            Entry::Unfit(why)
        }
    }
}

fn engine_id(engine: &Engine) -> String {
    let mut hasher = Blake3Hasher(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    hasher.0.finalize().to_hex()[..16].to_owned()
}

/// `std`'s default hasher may change between compilers; file names should not.
struct Blake3Hasher(blake3::Hasher);

impl Hasher for Blake3Hasher {
    fn finish(&self) -> u64 {
        let hash = self.0.finalize();
        hash.as_bytes()
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let metadata = fs::metadata(folder)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(
            "it belongs to another user; remove it or set DAMPER_HOME elsewhere",
        ));
    }
    if metadata.permissions().mode() & 0o022 != 0 {
        return Err(io::Error::other(
            "others can write to it; run `chmod 700` on it",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}
