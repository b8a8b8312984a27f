//! Finding what a profile names: shipped profiles and plugins, and the user's own.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

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
        match fs::read(&path) {
            Ok(bytes) => return Ok((path, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io::Error::other(format!("`{}`: {error}", path.display()))),
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

/// Returns the file that a row's `plugin` means, whether it exists or not.
pub(crate) fn component_path(home: &Home, share: &Share, plugin: &PluginRef) -> PathBuf {
    match plugin {
        PluginRef::File(path) => path.clone(),
        PluginRef::Id(id) => {
            let own = home.plugins().join(format!("{id}.wasm"));
            let shipped = id
                .split_once('/')
                .filter(|(owner, _name)| *owner == SHIPPED_OWNER)
                .and_then(|(_owner, name)| {
                    Some(share.plugins.as_ref()?.join(format!("{name}.wasm")))
                });
            match shipped {
                Some(shipped) if !own.exists() => shipped,
                _ => own,
            }
        }
    }
}

/// Reads a component's file once; what is hashed here is what is compiled.
pub(crate) fn capture(path: &Path) -> Result<Captured, String> {
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
            "`{}` is {} MiB large",
            path.display(),
            metadata.len() >> 20
        ));
    }
    check_writers(path, &metadata)?;
    let bytes = fs::read(path).map_err(failed)?;
    let digest = Runtime::digest(&bytes);
    Ok(Captured {
        path: path.to_owned(),
        bytes: Arc::from(bytes),
        digest,
    })
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
