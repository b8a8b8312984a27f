//! One host per home: a file lock that also says who holds it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// Who holds the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// Its version.
    pub version: String,
    /// The profile it runs.
    pub profile: String,
}

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another host holds it.
    #[error(
        "a host is running already: pid {}, version {}, profile `{}`; stop it with `damper stop`",
        .0.pid, .0.version, .0.profile
    )]
    Held(Holder),
    /// Another host holds it and has not yet said who it is.
    #[error("another host is just starting; try again")]
    Starting,
    /// The file cannot be used.
    #[error("cannot lock `{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The lock, held as long as this lives. The system lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct HostLock {
    _file: File,
}

impl HostLock {
    /// Takes the lock or says who has it.
    pub(crate) fn take(path: &Path, holder: &Holder) -> Result<Self, LockError> {
        let io = |source| LockError::Io {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(read_holder(&mut file).map_or(LockError::Starting, LockError::Held));
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let text = serde_json::to_vec(holder).map_err(|error| io(error.into()))?;
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(&text))
            .map_err(io)?;
        Ok(Self { _file: file })
    }
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_host_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("host.lock");
        let holder = Holder {
            pid: 7,
            started_ms: 1,
            version: "0.1.0".to_owned(),
            profile: "default".to_owned(),
        };
        let first = HostLock::take(&path, &holder).unwrap();
        match HostLock::take(&path, &holder) {
            Err(LockError::Held(found)) => assert_eq!(found, holder),
            other => panic!("{other:?}"),
        }
        drop(first);
        HostLock::take(&path, &holder).unwrap();
    }
}
