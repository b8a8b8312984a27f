//! `DAMPER_HOME`: where a host keeps everything, and the checks that it is ours alone.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// Why the home folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No place for it can be told.
    #[error("cannot tell where to keep data: set DAMPER_HOME or HOME to an absolute folder")]
    Nowhere,
    /// It is not absolute.
    #[error("DAMPER_HOME is `{}`, which is not absolute", .0.display())]
    Relative(PathBuf),
    /// It is not safe or not usable.
    #[error("`{}`: {why}", .path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong and how to mend it.
        why: String,
    },
}

/// The folders of one host. Two hosts never share a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    runtime: PathBuf,
}

impl Home {
    /// Returns the home that the environment names: `DAMPER_HOME`, else the XDG data folder.
    pub fn from_environment() -> Result<Self, HomeError> {
        let root = match env::var_os("DAMPER_HOME") {
            Some(home) => PathBuf::from(home),
            None => env::var_os("XDG_DATA_HOME")
                .map(PathBuf::from)
                .filter(|data| data.is_absolute())
                .or_else(|| {
                    env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"))
                })
                .ok_or(HomeError::Nowhere)?
                .join("damper"),
        };
        Self::at(root)
    }

    /// Returns the home at a folder, which need not exist yet.
    pub fn at(root: PathBuf) -> Result<Self, HomeError> {
        if !root.is_absolute() {
            return Err(HomeError::Relative(root));
        }
        let runtime = runtime_folder(&root);
        Ok(Self { root, runtime })
    }

    /// Makes the folders that are missing, for the owner alone, and checks the rest.
    pub fn prepare(&self) -> Result<(), HomeError> {
        for folder in [
            &self.root,
            &self.runtime,
            &self.profiles(),
            &self.plugins(),
            &self.last_good(),
        ] {
            make_private(folder).map_err(|error| HomeError::Unusable {
                path: folder.clone(),
                why: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the lock of the running host.
    pub fn lock(&self) -> PathBuf {
        self.root.join("host.lock")
    }

    /// Returns the control socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join("control.sock")
    }

    /// Returns the journal's file.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.db")
    }

    /// Returns the file of the token that HTTP clients must show.
    pub fn http_token(&self) -> PathBuf {
        self.root.join("http.token")
    }

    /// Returns the folder of profiles and patches.
    pub fn profiles(&self) -> PathBuf {
        self.root.join("profiles")
    }

    /// Returns the user's patch of a profile.
    pub fn patch(&self, profile: &str) -> PathBuf {
        self.profiles().join(format!("{profile}.patch.yaml"))
    }

    /// Returns the folder of the user's own plugins.
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// Returns the folder of compiled code.
    pub(crate) fn code_cache(&self) -> PathBuf {
        self.root.join("code-cache")
    }

    /// Returns the folder of what last ran well.
    pub(crate) fn last_good(&self) -> PathBuf {
        self.root.join("last-good")
    }

    /// Returns the log of a host that runs detached.
    pub fn log(&self) -> PathBuf {
        self.root.join("host.log")
    }

    /// Returns the folders that no tool may touch.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        vec![self.root.clone(), self.runtime.clone()]
    }

    /// Returns a secret of this home, 32 random bytes that never leave it.
    pub(crate) fn host_key(&self) -> Result<[u8; 32], HomeError> {
        let path = self.root.join("host.key");
        let unusable = |why: String| HomeError::Unusable {
            path: path.clone(),
            why,
        };
        match fs::read(&path) {
            Ok(bytes) => <[u8; 32]>::try_from(bytes).map_err(|bytes| {
                unusable(format!(
                    "has {} bytes instead of 32; remove it",
                    bytes.len()
                ))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; 32];
                getrandom::fill(&mut key).map_err(|error| unusable(error.to_string()))?;
                write_private(&path, &key).map_err(|error| unusable(error.to_string()))?;
                Ok(key)
            }
            Err(error) => Err(unusable(error.to_string())),
        }
    }

    /// Returns the token of HTTP clients, made on first use.
    pub(crate) fn token(&self) -> Result<String, HomeError> {
        let path = self.http_token();
        let unusable = |error: io::Error| HomeError::Unusable {
            path: path.clone(),
            why: error.to_string(),
        };
        match fs::read_to_string(&path) {
            Ok(token) if token.trim().len() >= 32 => Ok(token.trim().to_owned()),
            Ok(_) => Err(HomeError::Unusable {
                path,
                why: "holds no token; remove it".to_owned(),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = [0; 24];
                getrandom::fill(&mut bytes)
                    .map_err(|error| unusable(io::Error::other(error.to_string())))?;
                let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                write_private(&path, token.as_bytes()).map_err(unusable)?;
                Ok(token)
            }
            Err(error) => Err(unusable(error)),
        }
    }
}

/// The longest path of a Unix socket, which macOS limits to 104 bytes with its NUL.
const MAX_SOCKET_PATH: usize = 100;

/// Returns where the socket lives: below `XDG_RUNTIME_DIR`, in a folder of this home's own;
/// without one, or where the path would be too long for a socket, in the home itself.
fn runtime_folder(root: &Path) -> PathBuf {
    let own = root.join("run");
    let Some(shared) = env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute() && dir.is_dir())
    else {
        return own;
    };
    let mut hasher = sha2::Sha256::new();
    use sha2::Digest as _;
    hasher.update(root.as_os_str().as_encoded_bytes());
    let name: String = hasher
        .finalize()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let folder = shared.join("damper").join(name);
    if folder.as_os_str().len() + "/control.sock".len() > MAX_SOCKET_PATH {
        own
    } else {
        folder
    }
}

/// Writes a file that only the owner can read: whole or not at all.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .ok_or_else(|| io::Error::other("it has no folder"))?;
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut draft, content)?;
    draft.as_file().sync_all()?;
    draft.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let metadata = fs::metadata(folder)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(
            "belongs to another user; set DAMPER_HOME to a folder of your own",
        ));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other(
            "can be written by others; run `chmod go-w` on it",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
