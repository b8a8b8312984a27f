//! `files`: looking at files, as far as the manifest asks and the row grants.

use std::{
    fmt, fs, io,
    path::{Component, Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    bindings::damper::plugin::files::{FileError, FileKind, Host, Metadata},
    state::GuestState,
};

/// What a plugin is granted, or asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Files.
    #[serde(default, skip_serializing_if = "FileGrants::is_empty")]
    pub files: FileGrants,
}

/// What a plugin may do with files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileGrants {
    /// Where it may look at metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<FileGrant>,
}

impl FileGrants {
    fn is_empty(&self) -> bool {
        self.metadata.is_empty()
    }
}

/// A place in the file system that a grant covers, with all below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FileGrant {
    /// The roots of the session that calls.
    Workspace,
    /// An absolute folder.
    Folder(PathBuf),
}

impl TryFrom<String> for FileGrant {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "workspace" => Ok(Self::Workspace),
            path if Path::new(path).is_absolute() => Ok(Self::Folder(PathBuf::from(path))),
            other => Err(format!(
                "`{other}` is neither `workspace` nor an absolute folder"
            )),
        }
    }
}

impl From<FileGrant> for String {
    fn from(grant: FileGrant) -> String {
        grant.to_string()
    }
}

impl fmt::Display for FileGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace => f.write_str("workspace"),
            Self::Folder(folder) => write!(f, "{}", folder.display()),
        }
    }
}

impl Grants {
    /// Returns what is both asked for and given: the only way grants come about.
    ///
    /// A folder counts if both sides cover it, so a row may give less than is asked.
    pub fn both(asked: &Self, given: &Self) -> Self {
        let covers = |grants: &[FileGrant], wanted: &FileGrant| {
            grants.iter().any(|grant| match (grant, wanted) {
                (FileGrant::Workspace, FileGrant::Workspace) => true,
                (FileGrant::Folder(outer), FileGrant::Folder(inner)) => inner.starts_with(outer),
                (FileGrant::Workspace, FileGrant::Folder(_))
                | (FileGrant::Folder(_), FileGrant::Workspace) => false,
            })
        };
        let (asked, given) = (&asked.files.metadata, &given.files.metadata);
        let mut metadata: Vec<FileGrant> = given
            .iter()
            .filter(|grant| covers(asked, grant))
            .cloned()
            .collect();
        for grant in asked.iter().filter(|grant| covers(given, grant)) {
            if !metadata.contains(grant) {
                metadata.push(grant.clone());
            }
        }
        Self {
            files: FileGrants { metadata },
        }
    }
}

/// Returns whether a path may be looked at. `path` is absolute and free of `..`.
fn may_look(grants: &[FileGrant], roots: &[PathBuf], path: &Path) -> bool {
    grants.iter().any(|grant| match grant {
        FileGrant::Workspace => roots.iter().any(|root| path.starts_with(root)),
        FileGrant::Folder(folder) => path.starts_with(folder),
    })
}

/// The longest path that is looked at, as Linux has it.
const MAX_PATH: usize = 4096;

impl Host for GuestState {
    async fn stat(&mut self, path: String) -> wasmtime::Result<Result<Metadata, FileError>> {
        let call = match &self.call {
            Some(call) => call,
            // Settings and definitions are asked for outside any call and session.
            None => return Ok(Err(FileError::NotGranted)),
        };
        if path.is_empty() || path.len() > MAX_PATH || path.contains('\0') {
            let why = format!("a path has 1 to {MAX_PATH} bytes and no NUL");
            return Ok(Err(FileError::InvalidPath(why)));
        }
        let grants = self.grants.files.metadata.clone();
        let roots = call.session.roots.clone();
        let path = lexically_clean(&call.cwd.join(path));
        Ok(tokio::task::spawn_blocking(move || look(&grants, &roots, &path)).await?)
    }
}

/// Looks at a path, which may lead anywhere: both the spelling and the destination must be
/// covered, and a refusal says nothing about whether anything is there.
fn look(grants: &[FileGrant], roots: &[PathBuf], path: &Path) -> Result<Metadata, FileError> {
    let resolved_roots: Vec<PathBuf> = roots
        .iter()
        .filter_map(|root| fs::canonicalize(root).ok())
        .collect();
    let resolved_grants: Vec<FileGrant> = grants
        .iter()
        .map(|grant| match grant {
            FileGrant::Workspace => FileGrant::Workspace,
            FileGrant::Folder(folder) => {
                FileGrant::Folder(fs::canonicalize(folder).unwrap_or_else(|_absent| folder.clone()))
            }
        })
        .collect();
    let spelled_inside =
        may_look(grants, roots, path) || may_look(&resolved_grants, &resolved_roots, path);
    if !spelled_inside {
        return Err(FileError::NotGranted);
    }
    let resolved = match fs::canonicalize(path) {
        Ok(resolved) => resolved,
        Err(error) => return Err(absent(&error, path, &resolved_grants, &resolved_roots)),
    };
    if !may_look(&resolved_grants, &resolved_roots, &resolved) {
        return Err(FileError::NotGranted);
    }
    let metadata = fs::metadata(&resolved).map_err(|error| FileError::Failed(error.to_string()))?;
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

/// Names why a path does not resolve. Where the nearest folder that exists lies outside, even
/// "not found" would tell what is there, so nothing is told.
fn absent(error: &io::Error, path: &Path, grants: &[FileGrant], roots: &[PathBuf]) -> FileError {
    let nearest = path
        .ancestors()
        .skip(1)
        .find_map(|folder| fs::canonicalize(folder).ok());
    match nearest {
        Some(folder) if !may_look(grants, roots, &folder) => FileError::NotGranted,
        _ if error.kind() == io::ErrorKind::NotFound
            || error.kind() == io::ErrorKind::NotADirectory =>
        {
            FileError::NotFound
        }
        _ => FileError::Failed(error.to_string()),
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
    use super::*;

    fn grants(places: &[&str]) -> Grants {
        let metadata = places
            .iter()
            .map(|place| FileGrant::try_from((*place).to_owned()).unwrap())
            .collect();
        Grants {
            files: FileGrants { metadata },
        }
    }

    #[test]
    fn a_grant_is_what_is_asked_and_given() {
        let table: [(&[&str], &[&str], &[&str]); 7] = [
            (&[], &["workspace"], &[]),
            (&["workspace"], &[], &[]),
            (&["workspace"], &["workspace"], &["workspace"]),
            (&["/"], &["/etc"], &["/etc"]),
            (&["/etc"], &["/"], &["/etc"]),
            (&["workspace"], &["/"], &[]),
            (
                &["workspace", "/a"],
                &["workspace", "/a/b", "/c"],
                &["workspace", "/a/b"],
            ),
        ];
        for (asked, given, expected) in table {
            assert_eq!(
                Grants::both(&grants(asked), &grants(given)),
                grants(expected),
                "{asked:?} {given:?}"
            );
        }
    }

    #[test]
    fn looks_only_where_both_the_spelling_and_the_destination_are_covered() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let outside = folder.path().join("outside");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(root.join("a.txt"), "12345").unwrap();
        fs::write(outside.join("secret"), "1").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.join("secret"), root.join("link")).unwrap();
            std::os::unix::fs::symlink(&outside, root.join("dir")).unwrap();
        }
        let check = |path: &str, expected: Result<Option<u64>, &str>| {
            let path = lexically_clean(&root.join(path));
            let found = look(
                &grants(&["workspace"]).files.metadata,
                std::slice::from_ref(&root),
                &path,
            );
            let found = found
                .map(|metadata| metadata.size)
                .map_err(|error| format!("{error:?}"));
            match expected {
                Ok(size) => assert_eq!(found, Ok(size), "{path:?}"),
                Err(start) => assert!(
                    found.clone().unwrap_err().contains(start),
                    "{path:?}: {found:?}"
                ),
            }
        };
        check("a.txt", Ok(Some(5)));
        check("sub", Ok(None));
        check("sub/../a.txt", Ok(Some(5)));
        check("none", Err("NotFound"));
        check("a.txt/none", Err("NotFound"));
        check("../outside/secret", Err("NotGranted"));
        check("/etc/passwd", Err("NotGranted"));
        check("../root-x", Err("NotGranted"));
        #[cfg(unix)]
        {
            check("link", Err("NotGranted"));
            check("dir/secret", Err("NotGranted"));
            check("dir/none", Err("NotGranted"));
        }
    }
}
