//! Which files a call can reach: those inside the session's roots, minus the hidden ones.
//!
//! A path is resolved first, so that links inside the roots work however they are
//! written and a refusal can say what is wrong. What is then opened is opened by cap-std
//! beneath the root, so that a link swapped in between cannot lead out.

use std::{
    fs::File,
    io,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};
use rustix::fs::OFlags;

use crate::ToolContext;

/// Why a path cannot be used. The text is for the model that named it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the path is empty; name a file or folder")]
    Empty,
    #[error("the path contains a NUL character, which no file name can")]
    Nul,
    #[error("`{path}` is outside the folders of this session; use a path inside {roots}")]
    Outside { path: String, roots: String },
    #[error("`{path}` belongs to damper itself, and no tool may touch it")]
    Hidden { path: String },
    #[error("`{path}` does not exist; look at what is there with `ls`, or search with grep")]
    Missing { path: String },
    #[error("`{path}` is a {kind}, not a file{advice}")]
    NotAFile {
        path: String,
        kind: &'static str,
        advice: &'static str,
    },
    #[error("`{path}` is not a folder; name a folder")]
    NotAFolder { path: String },
    #[error("`{path}` cannot be opened: {source}")]
    Io { path: String, source: io::Error },
}

/// The files that one call can reach.
#[derive(Debug)]
pub(crate) struct Reach {
    roots: Vec<Root>,
    /// With links resolved, so that they compare with resolved paths.
    hidden: Vec<PathBuf>,
    cwd: PathBuf,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    dir: Dir,
}

impl Reach {
    /// Opens the roots. One that does not exist gives access to nothing.
    pub(crate) fn new(context: &ToolContext) -> Self {
        let roots = context
            .roots
            .iter()
            .filter_map(|path| match Root::open(path) {
                Ok(root) => Some(root),
                Err(error) => {
                    tracing::debug!(root = %path.display(), %error, "a root cannot be opened");
                    None
                }
            })
            .collect();
        Self {
            roots,
            hidden: context.hidden.iter().map(|path| resolved(path)).collect(),
            cwd: resolved(&context.cwd),
        }
    }

    /// Returns the real path of an existing file or folder inside the reach.
    pub(crate) fn locate(&self, path: &str) -> Result<PathBuf, Refusal> {
        if path.is_empty() {
            return Err(Refusal::Empty);
        }
        if path.contains('\0') {
            return Err(Refusal::Nul);
        }
        let asked = self.cwd.join(path);
        let real = match asked.canonicalize() {
            Ok(real) => real,
            // Whether something exists outside is nobody's business.
            Err(_unresolved) if self.root_of(&nearest_existing(&asked)).is_none() => {
                return Err(self.outside(path));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Refusal::Missing { path: path.into() });
            }
            Err(source) => {
                return Err(Refusal::Io {
                    path: path.into(),
                    source,
                });
            }
        };
        if self.hides(&real) {
            return Err(Refusal::Hidden { path: path.into() });
        }
        match self.root_of(&real) {
            Some(_) => Ok(real),
            None => Err(self.outside(path)),
        }
    }

    /// Returns the real path of a folder inside the reach.
    pub(crate) fn locate_folder(&self, path: &str) -> Result<PathBuf, Refusal> {
        let real = self.locate(path)?;
        if real.is_dir() {
            Ok(real)
        } else {
            Err(Refusal::NotAFolder { path: path.into() })
        }
    }

    /// Opens a regular file by its real path, and nothing else: never waits for a FIFO.
    pub(crate) fn open(&self, real: &Path) -> Result<File, Refusal> {
        let shown = || self.shown(real);
        let failed = |source| Refusal::Io {
            path: shown(),
            source,
        };
        let root = self.root_of(real).ok_or_else(|| self.outside(&shown()))?;
        let inside = real.strip_prefix(&root.path).unwrap_or(real);
        let inside = if inside.as_os_str().is_empty() {
            Path::new(".")
        } else {
            inside
        };
        // Opening a device may already do something, so its type is looked at before.
        let listed = root.dir.symlink_metadata(inside).map_err(failed)?;
        check_is_file(shown, listed.file_type().is_file(), real)?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(never_wait());
        let file = root
            .dir
            .open_with(inside, &options)
            .map_err(failed)?
            .into_std();
        let opened = file.metadata().map_err(failed)?;
        check_is_file(shown, opened.is_file(), real)?;
        Ok(file)
    }

    /// Returns the resolved folders that no tool may touch.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Returns a path as the caller would write it: relative where that is possible. It
    /// is safe to print on a line of its own.
    pub(crate) fn shown(&self, real: &Path) -> String {
        let shown = real.strip_prefix(&self.cwd).unwrap_or(real);
        shown
            .to_string_lossy()
            .chars()
            .flat_map(|c| {
                let escape = c.is_control();
                escape
                    .then(|| c.escape_default())
                    .into_iter()
                    .flatten()
                    .chain((!escape).then_some(c))
            })
            .collect()
    }

    fn hides(&self, real: &Path) -> bool {
        self.hidden.iter().any(|hidden| real.starts_with(hidden))
    }

    fn root_of(&self, real: &Path) -> Option<&Root> {
        self.roots.iter().find(|root| real.starts_with(&root.path))
    }

    fn outside(&self, path: &str) -> Refusal {
        let roots: Vec<_> = self
            .roots
            .iter()
            .map(|root| format!("`{}`", root.path.display()))
            .collect();
        Refusal::Outside {
            path: path.into(),
            roots: if roots.is_empty() {
                "a folder of the session (none of them exists)".into()
            } else {
                roots.join(" or ")
            },
        }
    }
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, dir })
    }
}

/// Returns the path with links resolved, or as it is when it does not exist.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_missing| path.into())
}

/// Returns the real path of the closest folder above a path that cannot be looked up.
fn nearest_existing(path: &Path) -> PathBuf {
    without_dots(path)
        .ancestors()
        .find_map(|above| above.canonicalize().ok())
        .unwrap_or_default()
}

/// Resolves `.` and `..` by their letters.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            std::path::Component::Prefix(_)
            | std::path::Component::RootDir
            | std::path::Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

fn never_wait() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

fn check_is_file(shown: impl Fn() -> String, is_file: bool, real: &Path) -> Result<(), Refusal> {
    if is_file {
        return Ok(());
    }
    let (kind, advice) = match real.symlink_metadata().map(|data| data.file_type()) {
        Ok(found) if found.is_dir() => ("folder", "; list it with `ls`"),
        Ok(found) if found.is_fifo() => ("FIFO", "; reading it could wait for ever"),
        Ok(found) if found.is_socket() => ("socket", ""),
        Ok(found) if found.is_char_device() || found.is_block_device() => ("device", ""),
        Ok(_) | Err(_) => ("special file", ""),
    };
    Err(Refusal::NotAFile {
        path: shown(),
        kind,
        advice,
    })
}
