//! `files`: looking at files and reading them, as far as the manifest asks and the row grants.

use std::{
    fs,
    io::{self, Read as _, Seek as _},
    path::{Component, Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt as _},
};

use crate::{
    bindings::damper::plugin::files::{FileError, FileKind, Host, Metadata, Piece},
    grants::FileGrant,
    state::GuestState,
};

/// What a guest may reach, for one call.
struct Reach {
    grants: Vec<FileGrant>,
    roots: Vec<PathBuf>,
    /// The host's own folders, which no grant covers.
    hidden: Vec<PathBuf>,
}

impl Reach {
    /// Returns the place that covers a path, if one does. `path` is absolute and free of `..`.
    fn covering(&self, path: &Path) -> Option<&Path> {
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return None;
        }
        let places = self.grants.iter().flat_map(|grant| match grant {
            FileGrant::Workspace => self.roots.as_slice(),
            FileGrant::Folder(folder) => std::slice::from_ref(folder),
        });
        places
            .map(PathBuf::as_path)
            .find(|place| path.starts_with(place))
    }

    /// Returns the same reach with all its folders as they are after symbolic links.
    fn resolved(&self) -> Self {
        let resolve = |folder: &PathBuf| fs::canonicalize(folder).ok();
        Self {
            grants: self
                .grants
                .iter()
                .map(|grant| match grant {
                    FileGrant::Workspace => FileGrant::Workspace,
                    FileGrant::Folder(folder) => {
                        FileGrant::Folder(resolve(folder).unwrap_or_else(|| folder.clone()))
                    }
                })
                .collect(),
            roots: self.roots.iter().filter_map(resolve).collect(),
            hidden: self
                .hidden
                .iter()
                .map(|folder| resolve(folder).unwrap_or_else(|| folder.clone()))
                .collect(),
        }
    }

    /// Follows a path, which may lead anywhere: both the spelling and the destination must be
    /// covered, and a refusal says nothing about whether anything is there. Returns the
    /// destination and the place that covers it.
    fn follow(&self, path: &Path) -> Result<(PathBuf, PathBuf), FileError> {
        let resolved = self.resolved();
        if self.covering(path).is_none() && resolved.covering(path).is_none() {
            return Err(FileError::NotGranted);
        }
        let destination = fs::canonicalize(path).map_err(|error| resolved.absent(&error, path))?;
        match resolved.covering(&destination) {
            Some(place) => Ok((destination.clone(), place.to_owned())),
            None => Err(FileError::NotGranted),
        }
    }

    /// Names why a path does not resolve. Where the nearest folder that exists lies outside,
    /// even "not found" would tell what is there, so nothing is told.
    fn absent(&self, error: &io::Error, path: &Path) -> FileError {
        let nearest = path
            .ancestors()
            .skip(1)
            .find_map(|folder| fs::canonicalize(folder).ok());
        match nearest {
            Some(folder) if self.covering(&folder).is_none() => FileError::NotGranted,
            _ if error.kind() == io::ErrorKind::NotFound
                || error.kind() == io::ErrorKind::NotADirectory =>
            {
                FileError::NotFound
            }
            _ => FileError::Failed(error.to_string()),
        }
    }

    fn look(&self, path: &Path) -> Result<Metadata, FileError> {
        let (resolved, _place) = self.follow(path)?;
        let metadata = fs::metadata(&resolved)?;
        let kind = match () {
            () if metadata.is_file() => FileKind::File,
            () if metadata.is_dir() => FileKind::Directory,
            () => FileKind::Other,
        };
        let size = metadata.is_file().then_some(metadata.len());
        Ok(Metadata {
            resolved: resolved.to_string_lossy().into_owned(),
            kind,
            size,
        })
    }

    fn read(&self, path: &Path, offset: u64, length: u32) -> Result<Piece, FileError> {
        let (resolved, place) = self.follow(path)?;
        let inside = resolved
            .strip_prefix(&place)
            .map_err(|_outside| FileError::NotGranted)?;
        if inside.as_os_str().is_empty() {
            return Err(FileError::InvalidPath("not a regular file".to_owned()));
        }
        // Whoever changes the path meanwhile cannot lead the opening out of the place.
        let place = Dir::open_ambient_dir(&place, ambient_authority())?;
        let mut options = OpenOptions::new();
        // Opening a pipe would wait for somebody to write to it.
        options.read(true).custom_flags(NONBLOCKING);
        let mut file = place.open_with(inside, &options)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(FileError::InvalidPath("not a regular file".to_owned()));
        }
        // Beyond the end there is nothing, and not every offset can be sought.
        let offset = offset.min(metadata.len());
        file.seek(io::SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(u64::from(length.min(MAX_PIECE)))
            .read_to_end(&mut bytes)?;
        Ok(Piece {
            bytes,
            size: metadata.len(),
        })
    }
}

/// `O_NONBLOCK`
#[expect(clippy::cast_possible_wrap, reason = "the flag is a small number")]
const NONBLOCKING: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The longest path that is looked at, as Linux has it.
const MAX_PATH: usize = 4096;

/// The most bytes that are read at once: enough to go through a file in few calls, little
/// enough that what the host holds for a guest stays small.
const MAX_PIECE: u32 = 64 * 1024;

impl GuestState {
    /// Returns what the guest may reach by these grants, and the path as it is spelled, from
    /// the working directory.
    fn reach(&self, grants: &[FileGrant], path: &str) -> Result<(Reach, PathBuf), FileError> {
        // Settings and definitions are asked for outside any session.
        let session = self.session.as_ref().ok_or(FileError::NotGranted)?;
        if path.is_empty() || path.len() > MAX_PATH || path.contains('\0') {
            let why = format!("a path has 1 to {MAX_PATH} bytes and no NUL");
            return Err(FileError::InvalidPath(why));
        }
        let cwd = self.call.as_ref().map_or(&session.cwd, |call| &call.cwd);
        let reach = Reach {
            grants: grants.to_vec(),
            roots: session.roots.clone(),
            hidden: self.around.hidden.clone(),
        };
        Ok((reach, lexically_clean(&cwd.join(path))))
    }
}

impl Host for GuestState {
    async fn stat(&mut self, path: String) -> wasmtime::Result<Result<Metadata, FileError>> {
        match self.reach(&self.grants.files.metadata, &path) {
            Ok((reach, path)) => Ok(tokio::task::spawn_blocking(move || reach.look(&path)).await?),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn read(
        &mut self,
        path: String,
        offset: u64,
        length: u32,
    ) -> wasmtime::Result<Result<Piece, FileError>> {
        match self.reach(&self.grants.files.read, &path) {
            Ok((reach, path)) => {
                let reading =
                    tokio::task::spawn_blocking(move || reach.read(&path, offset, length));
                Ok(reading.await?)
            }
            Err(error) => Ok(Err(error)),
        }
    }
}

/// Returns the path without `.` and `..`, as far as its spelling tells.
fn lexically_clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                clean.push(component)
            }
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A root with files, links and a pipe in it, beside a folder that nothing covers.
    struct Place {
        _folder: tempfile::TempDir,
        root: PathBuf,
        reach: Reach,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let outside = folder.path().join("outside");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join("home/keys")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(root.join("a.txt"), "12345").unwrap();
        fs::write(root.join("home/keys/key"), "1").unwrap();
        fs::write(outside.join("secret"), "1").unwrap();
        symlink(outside.join("secret"), root.join("link")).unwrap();
        symlink(&outside, root.join("dir")).unwrap();
        symlink(root.join("home"), root.join("to-home")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(root.join("pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        let reach = Reach {
            grants: vec![FileGrant::Workspace],
            roots: vec![root.clone()],
            hidden: vec![root.join("home")],
        };
        Place {
            _folder: folder,
            root,
            reach,
        }
    }

    /// Every way in goes through the same gate.
    const GATE: [(&str, &str); 9] = [
        ("none", "NotFound"),
        ("a.txt/none", "NotFound"),
        ("../outside/secret", "NotGranted"),
        ("/etc/passwd", "NotGranted"),
        ("../root-x", "NotGranted"),
        ("link", "NotGranted"),
        ("dir/secret", "NotGranted"),
        ("dir/none", "NotGranted"),
        ("home/keys/key", "NotGranted"),
    ];

    #[test]
    fn reaches_only_where_both_the_spelling_and_the_destination_are_covered() {
        let place = place();
        for (path, expected) in GATE.into_iter().chain([("to-home/keys/key", "NotGranted")]) {
            let path = lexically_clean(&place.root.join(path));
            let looked = format!("{:?}", place.reach.look(&path).unwrap_err());
            let read = format!("{:?}", place.reach.read(&path, 0, 9).unwrap_err());
            assert!(looked.contains(expected), "{path:?}: {looked}");
            assert_eq!(looked, read, "{path:?}");
        }
        let nothing = Reach {
            grants: Vec::new(),
            ..place.reach
        };
        let error = nothing.look(&place.root.join("a.txt")).unwrap_err();
        assert!(matches!(error, FileError::NotGranted));
    }

    #[test]
    fn tells_what_is_there() {
        let place = place();
        let table = [
            ("a.txt", Some(5)),
            ("sub", None),
            ("sub/../a.txt", Some(5)),
            ("pipe", None),
        ];
        for (path, size) in table {
            let path = lexically_clean(&place.root.join(path));
            assert_eq!(place.reach.look(&path).unwrap().size, size, "{path:?}");
        }
    }

    #[test]
    fn reads_pieces_of_regular_files() {
        let place = place();
        let table = [
            ("a.txt", 0, 99, "12345"),
            ("a.txt", 2, 2, "34"),
            ("a.txt", 5, 9, ""),
            ("a.txt", u64::MAX >> 1, 9, ""),
        ];
        for (path, offset, length, expected) in table {
            let piece = place
                .reach
                .read(&place.root.join(path), offset, length)
                .unwrap();
            assert_eq!(piece.bytes, expected.as_bytes(), "{path} {offset}");
            assert_eq!(piece.size, 5);
        }
        for path in ["", "sub", "pipe"] {
            let error = place.reach.read(&place.root.join(path), 0, 1).unwrap_err();
            assert!(
                matches!(error, FileError::InvalidPath(_)),
                "{path}: {error:?}"
            );
        }
        fs::write(place.root.join("large"), vec![7; 100_000]).unwrap();
        let piece = place
            .reach
            .read(&place.root.join("large"), 0, u32::MAX)
            .unwrap();
        assert_eq!((piece.bytes.len(), piece.size), (65_536, 100_000));
    }
}
