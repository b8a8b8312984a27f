//! Finding what a profile names: shipped profiles and plugins, and the user's own.

use std::{
    collections::HashMap,
    env, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use damper_call::Digest;
use damper_dispatch::Captured;
use damper_profile::PluginRef;
use damper_wasm::Runtime;

use crate::home::Home;

/// The `default` profile, for a binary that stands alone.
const DEFAULT_PROFILE: &str = include_str!("../../../profiles/default.yaml");

/// The owner whose plugins are shipped.
const SHIPPED_OWNER: &str = "damper";

/// The largest component file that is read; what is larger is refused by name.
const MAX_FILE: u64 = 256 << 20;

/// Where shipped profiles and plugins are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// The folder of shipped profiles.
    pub profiles: Option<PathBuf>,
    /// The folder of shipped plugins.
    pub plugins: Option<PathBuf>,
}

impl Share {
    /// Finds the shipped files: `DAMPER_SHARE`; else `../share/damper` beside the executable;
    /// else the build folder of a checkout that the executable lies in.
    pub fn find() -> Self {
        let share = env::var_os("DAMPER_SHARE")
            .map(PathBuf::from)
            .or_else(beside_executable);
        if let Some(share) = share {
            return Self {
                profiles: Some(share.join("profiles")),
                plugins: Some(share.join("plugins")),
            };
        }
        checkout().unwrap_or_default()
    }
}

fn beside_executable() -> Option<PathBuf> {
    let executable = env::current_exe().ok()?;
    let share = executable.parent()?.parent()?.join("share/damper");
    share.is_dir().then_some(share)
}

/// The executable of a checkout is `target/PROFILE/damper`, its guests are in `target/guests`.
fn checkout() -> Option<Share> {
    let executable = env::current_exe().ok()?;
    let target = executable
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "target"))?;
    let root = target.parent()?;
    let is_ours = root.join("profiles/default.yaml").is_file();
    is_ours.then(|| Share {
        profiles: Some(root.join("profiles")),
        plugins: Some(target.join("guests")),
    })
}

/// Returns a profile's file and content: the user's own, else the shipped one.
pub(crate) fn profile(home: &Home, share: &Share, name: &str) -> io::Result<(PathBuf, Vec<u8>)> {
    let file = format!("{name}.yaml");
    let own = home.profiles().join(&file);
    let shipped = share.profiles.as_ref().map(|folder| folder.join(&file));
    for path in std::iter::once(own.clone()).chain(shipped) {
        if let Some(bytes) = read_small(&path)? {
            return Ok((path, bytes));
        }
    }
    if name == "default" {
        return Ok((
            PathBuf::from("(built in)/default.yaml"),
            DEFAULT_PROFILE.as_bytes().to_vec(),
        ));
    }
    Err(io::Error::other(format!(
        "there is no profile `{name}`: no `{}`, and none is shipped",
        own.display()
    )))
}

/// Reads a profile or a patch, `None` if there is none. What is no regular file is refused, since
/// reading a pipe or a device may never end; of what is too large only so much is read that
/// the parser sees it.
pub(crate) fn read_small(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let failed = |why: String| io::Error::other(format!("`{}` {why}", path.display()));
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(format!("cannot be read: {error}"))),
        Ok(metadata) if !metadata.is_file() => {
            return Err(failed("is not a regular file".to_owned()));
        }
        Ok(_regular) => {}
    }
    let file = fs::File::open(path).map_err(|error| failed(format!("cannot be read: {error}")))?;
    let mut bytes = Vec::new();
    file.take(damper_profile::MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    Ok(Some(bytes))
}

/// Returns the files that a row's `plugin` may mean, the one that counts first if it exists.
///
/// All of them matter to the watcher: a plugin of the user's own goes before a shipped one from
/// the moment it is put in place.
pub fn component_paths(home: &Home, share: &Share, plugin: &PluginRef) -> Vec<PathBuf> {
    let id = match plugin {
        PluginRef::File(path) => return vec![path.clone()],
        PluginRef::Id(id) => id,
    };
    let own = home.plugins().join(format!("{id}.wasm"));
    let shipped = id
        .split_once('/')
        .filter(|(owner, _name)| *owner == SHIPPED_OWNER)
        .zip(share.plugins.as_ref())
        .map(|((_owner, name), folder)| folder.join(format!("{name}.wasm")));
    std::iter::once(own).chain(shipped).collect()
}

/// Returns the file that counts among those a `plugin` may mean: the first that exists, else
/// the last, which is the one a person would expect.
pub fn component_path(paths: &[PathBuf]) -> PathBuf {
    let existing = paths.iter().find(|path| path.exists());
    existing.or(paths.last()).cloned().unwrap_or_default()
}

/// The digests of component files by what can be told of a file without reading it, so that an
/// edit of one row does not read and hash the components of all others again.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<PathBuf, (Stamp, Digest)>);

/// Changes whenever a file is replaced or written to: nobody can set the time of its last
/// change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// How long a file must have been unchanged when it is read for its stamp to tell the next
/// change: the clock of a file system may stand still for some milliseconds.
const STAMP_SETTLES: Duration = Duration::from_secs(1);

/// Finds what a component's file holds, reading it once; what is hashed is what is compiled.
pub(crate) fn capture(path: &Path, known: &mut Known) -> Result<Captured, String> {
    let failed = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            format!("there is no `{}`", path.display())
        } else {
            format!("`{}` cannot be read: {error}", path.display())
        }
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(format!("`{}` is not a regular file", path.display()));
    }
    if metadata.len() > MAX_FILE {
        return Err(format!(
            "`{}` is {} MiB large, above the most of {} MiB",
            path.display(),
            metadata.len() >> 20,
            MAX_FILE >> 20
        ));
    }
    check_writers(path, &metadata)?;
    let stamp = stamp(&metadata);
    if let Some((before, digest)) = known.0.get(path)
        && stamp.as_ref() == Some(before)
    {
        return Ok(Captured {
            path: path.to_owned(),
            digest: *digest,
            bytes: None,
        });
    }
    let bytes = fs::read(path).map_err(failed)?;
    let digest = Runtime::digest(&bytes);
    match stamp {
        Some(stamp) => known.0.insert(path.to_owned(), (stamp, digest)),
        None => known.0.remove(path),
    };
    Ok(Captured {
        path: path.to_owned(),
        digest,
        bytes: Some(Arc::from(bytes)),
    })
}

/// Returns the stamp of a file, `None` while it was changed too recently to tell changes apart.
#[cfg(unix)]
fn stamp(metadata: &fs::Metadata) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt as _;
    let changed = u64::try_from(metadata.ctime()).ok()?;
    let changed = UNIX_EPOCH + Duration::from_secs(changed);
    let is_settled = SystemTime::now()
        .duration_since(changed)
        .is_ok_and(|age| age > STAMP_SETTLES + Duration::from_secs(1));
    is_settled.then(|| Stamp {
        file: (metadata.dev(), metadata.ino()),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(not(unix))]
fn stamp(_metadata: &fs::Metadata) -> Option<Stamp> {
    None
}

/// Refuses a component that other users can replace.
#[cfg(unix)]
fn check_writers(path: &Path, metadata: &fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw() || metadata.uid() == 0;
    if !is_ours || metadata.mode() & 0o002 != 0 {
        return Err(format!(
            "`{}` can be changed by other users; `chown` it to yourself and `chmod o-w` it",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_writers(_path: &Path, _metadata: &fs::Metadata) -> Result<(), String> {
    Ok(())
}
