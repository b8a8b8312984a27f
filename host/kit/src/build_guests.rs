//! `damper plugin build`: a workspace of guests becomes a folder of components.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{
    check::{Finding, check_imports},
    componentize::{ADAPTER, componentize, with_manifest},
    foreign::{self, ForeignError},
    target::{TARGET, TargetError, Toolchain},
};

/// The file in the folder of components that says what each was made of.
const RECORD: &str = "built.json";

/// Something that takes time, announced before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `rustup target add` is about to run.
    AddingTarget {
        /// How long it may take.
        limit: Duration,
    },
    /// rustup is not asked, because it failed before.
    SkippingRustup {
        /// The file to delete to have it tried again.
        note: PathBuf,
    },
    /// apt is about to install packages.
    InstallingPackages {
        /// Which.
        packages: &'static [&'static str],
        /// How long it may take.
        limit: Duration,
    },
    /// Cargo is about to compile the workspace.
    Compiling {
        /// The workspace.
        workspace: PathBuf,
        /// With what.
        toolchain: Toolchain,
    },
    /// The command of a `damper.toml` is about to run.
    Running {
        /// The command.
        command: String,
        /// Where.
        folder: PathBuf,
    },
    /// A module is about to be made a component.
    Making {
        /// The plugin's crate.
        name: String,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddingTarget { limit } => write!(
                f,
                "adding the target {TARGET} with rustup (at most {} s)",
                limit.as_secs()
            ),
            Self::SkippingRustup { note } => write!(
                f,
                "not asking rustup for {TARGET}, it failed before; delete {} to retry",
                note.display()
            ),
            Self::InstallingPackages { packages, limit } => write!(
                f,
                "installing {} with apt-get (at most {} s)",
                packages.join(" "),
                limit.as_secs()
            ),
            Self::Compiling {
                workspace,
                toolchain,
            } => {
                let with = match toolchain {
                    Toolchain::Installed => "",
                    Toolchain::Debian => " and std, with Debian's Rust",
                };
                write!(f, "compiling the guests in {}{with}", workspace.display())
            }
            Self::Running { command, folder } => {
                write!(f, "running `{command}` in {}", folder.display())
            }
            Self::Making { name } => write!(f, "making the component {name}"),
        }
    }
}

/// One component in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The name of its crate, with `-` for `_`; also that of its file.
    pub name: String,
    /// The component.
    pub path: PathBuf,
    /// Whether it was made now, and not found as it should be.
    pub changed: bool,
}

/// Why a workspace could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// There is nothing to compile.
    #[error("{} has neither a `Cargo.toml` nor a `damper.toml`: {source}", .workspace.display())]
    NoWorkspace {
        /// The folder.
        workspace: PathBuf,
        /// What looking for it said.
        source: io::Error,
    },
    /// There is nothing to compile with.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// Cargo could not be run.
    #[error("cargo could not be run: {0}")]
    Cargo(io::Error),
    /// Cargo ran and failed; it has said why.
    #[error("the guests in {} did not compile: cargo ended with {status}", .workspace.display())]
    Compile {
        /// The workspace.
        workspace: PathBuf,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// Cargo compiled no plugin.
    #[error(
        "no crate in {} is a plugin; one has `crate-type = [\"cdylib\"]` under `[lib]`",
        .0.display()
    )]
    NoPlugins(PathBuf),
    /// A module is not the module of a plugin.
    #[error("{name} is no plugin: {source:#}")]
    Component {
        /// The crate.
        name: String,
        /// What is wrong with it.
        source: anyhow::Error,
    },
    /// A plugin with a `damper.toml` could not be built.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// A component wants what this host does not have.
    #[error("{name} would be refused by this host: {}", told(.findings))]
    Refused {
        /// The crate.
        name: String,
        /// What is wrong with it.
        findings: Vec<Finding>,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Compiles all plugins of a Cargo workspace, or the plugin of a folder with a `damper.toml`,
/// and puts their components into `out`.
///
/// Components whose modules have not changed are left alone. The same sources and the
/// same toolchain make the same bytes. Files are replaced in one step, so that a host
/// which watches `out` never sees half a component.
///
/// # Errors
///
/// Says what could not be done. Components that were already made stay.
pub fn build(
    workspace: &Path,
    out: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Vec<Built>, BuildError> {
    if workspace.join(foreign::RECIPE).is_file() {
        return Ok(vec![put(foreign::make(workspace, progress)?, out)?]);
    }
    let workspace = existing(workspace)?;
    let modules = compile(&workspace, progress)?;
    if modules.is_empty() {
        return Err(BuildError::NoPlugins(workspace));
    }
    fs::create_dir_all(out).map_err(at(out))?;
    let mut record = read_record(out);
    let mut built = Vec::with_capacity(modules.len());
    for (name, module) in &modules {
        let path = out.join(format!("{name}.wasm"));
        let module = fs::read(module).map_err(at(module))?;
        let made_of = digest(&[&module, ADAPTER]);
        let changed = !is_current(record.get(name), &made_of, &path);
        if changed {
            progress(Step::Making { name: name.clone() });
            let component = make(name, &module)?;
            replace(&path, &component)?;
            let made = Made {
                of: made_of,
                component: digest(&[&component]),
            };
            record.insert(name.clone(), made);
            write_record(out, &record)?;
        }
        built.push(Built {
            name: name.clone(),
            path,
            changed,
        });
    }
    forget_removed(out, &mut record, &modules)?;
    Ok(built)
}

/// Puts a component where it belongs. It has no line in the record, which is that of a
/// workspace: the workspace's next build into the same folder leaves it alone.
fn put(made: foreign::Made, out: &Path) -> Result<Built, BuildError> {
    fs::create_dir_all(out).map_err(at(out))?;
    // The manifest was accepted, so the name is one of letters, digits and `-`.
    let path = out.join(format!("{}.wasm", made.name));
    let changed = !fs::read(&path).is_ok_and(|present| present == made.component);
    if changed {
        replace(&path, &made.component)?;
    }
    Ok(Built {
        name: made.name,
        path,
        changed,
    })
}

/// Imports are checked before the guest is asked for its manifest: it could not even start.
fn make(name: &str, module: &[u8]) -> Result<Vec<u8>, BuildError> {
    let failed = |source| BuildError::Component {
        name: name.to_owned(),
        source,
    };
    let component = componentize(module).map_err(failed)?;
    refuse(name, check_imports(&component).map_err(failed)?)?;
    with_manifest(&component).map_err(failed)
}

/// Refuses a component of which anything was found.
pub(crate) fn refuse(name: &str, findings: Vec<Finding>) -> Result<(), BuildError> {
    if findings.is_empty() {
        return Ok(());
    }
    Err(BuildError::Refused {
        name: name.to_owned(),
        findings,
    })
}

fn told(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("\n  {}\n    {}", finding.what, finding.way_out))
        .collect()
}

/// Returns the folder that cargo compiles a workspace into: `CARGO_TARGET_DIR` where that is
/// set.
pub fn target_folder(workspace: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .filter(|folder| !folder.is_empty())
        .and_then(|folder| std::path::absolute(folder).ok())
        .unwrap_or_else(|| workspace.join("target"))
}

fn existing(workspace: &Path) -> Result<PathBuf, BuildError> {
    let found = workspace.canonicalize().and_then(|workspace| {
        fs::metadata(workspace.join("Cargo.toml"))?;
        Ok(workspace)
    });
    found.map_err(|source| BuildError::NoWorkspace {
        workspace: workspace.to_owned(),
        source,
    })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    |source| BuildError::File {
        path: path.to_owned(),
        source,
    }
}

/// Returns the module of each plugin, by the name of its crate.
fn compile(
    workspace: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<BTreeMap<String, PathBuf>, BuildError> {
    let target_dir = target_folder(workspace);
    let toolchain = Toolchain::find(workspace, &target_dir, progress)?;
    progress(Step::Compiling {
        workspace: workspace.to_owned(),
        toolchain,
    });
    let mut cargo = toolchain
        .command(workspace, &target_dir)
        .args(["--workspace", "--message-format", "json-render-diagnostics"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BuildError::Cargo)?;
    let mut modules = BTreeMap::new();
    if let Some(messages) = cargo.stdout.take() {
        for message in BufReader::new(messages).lines() {
            modules.extend(module_in(&message.map_err(BuildError::Cargo)?));
        }
    }
    let status = cargo.wait().map_err(BuildError::Cargo)?;
    if !status.success() {
        return Err(BuildError::Compile {
            workspace: workspace.to_owned(),
            status,
        });
    }
    Ok(modules)
}

/// What cargo says of something it compiled, as far as it matters here.
#[derive(Deserialize)]
struct Artifact {
    target: ArtifactTarget,
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
    crate_types: Vec<String>,
}

/// Returns the plugin that a line of cargo's messages tells of. Most tell of others.
fn module_in(message: &str) -> Option<(String, PathBuf)> {
    let artifact: Artifact = serde_json::from_str(message).ok()?;
    let is_plugin = artifact
        .target
        .crate_types
        .iter()
        .any(|kind| kind == "cdylib");
    let module = artifact.filenames.into_iter().find(|file| {
        file.extension()
            .is_some_and(|extension| extension == "wasm")
    });
    module
        .filter(|_| is_plugin)
        .map(|module| (artifact.target.name.replace('_', "-"), module))
}

/// What a component was made of, and what it was.
#[derive(Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
struct Made {
    of: String,
    component: String,
}

type Record = BTreeMap<String, Made>;

/// A record that is missing or damaged makes everything be made again.
fn read_record(out: &Path) -> Record {
    fs::read(out.join(RECORD))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

fn write_record(out: &Path, record: &Record) -> Result<(), BuildError> {
    let path = out.join(RECORD);
    let text = serde_json::to_vec_pretty(record).map_err(|error| at(&path)(error.into()))?;
    replace(&path, &text)
}

/// The component is looked at too, since others may have written to the folder.
fn is_current(made: Option<&Made>, made_of: &str, path: &Path) -> bool {
    made.is_some_and(|made| {
        made.of == made_of
            && fs::read(path).is_ok_and(|component| digest(&[&component]) == made.component)
    })
}

/// Removes the components of crates that are gone.
fn forget_removed(
    out: &Path,
    record: &mut Record,
    modules: &BTreeMap<String, PathBuf>,
) -> Result<(), BuildError> {
    let gone: Vec<String> = record
        .keys()
        .filter(|name| !modules.contains_key(*name))
        .cloned()
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    for name in gone {
        record.remove(&name);
        let path = out.join(format!("{name}.wasm"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            Ok(()) | Err(_) => {}
        }
    }
    write_record(out, record)
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut options = tempfile::Builder::new();
    options.prefix(".building-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        // Else nobody but the builder could read what it built.
        options.permissions(fs::Permissions::from_mode(0o644));
    }
    let mut file = options.tempfile_in(folder).map_err(at(folder))?;
    file.write_all(bytes).map_err(at(path))?;
    file.persist(path).map_err(|error| at(path)(error.error))?;
    Ok(())
}

fn digest(parts: &[&[u8]]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part);
    }
    sha.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, path::Path};

    use super::{
        BuildError, Made, build, digest, forget_removed, is_current, module_in, read_record,
        replace, write_record,
    };

    #[test]
    fn finds_plugins_among_cargos_messages() {
        let artifact = |kind: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"file_info","crate_types":["{kind}","rlib"]}},"filenames":["{file}","/t/libfile_info.rlib"]}}"#
            )
        };
        let table = [
            (artifact("cdylib", "/t/file_info.wasm"), Some("file-info")),
            (artifact("lib", "/t/file_info.wasm"), None),
            (artifact("cdylib", "/t/libfile_info.so"), None),
            (
                r#"{"reason":"build-finished","success":true}"#.to_owned(),
                None,
            ),
            ("warning: no JSON".to_owned(), None),
        ];
        for (message, expected) in table {
            let name = module_in(&message).map(|(name, _)| name);
            assert_eq!(name.as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn a_component_is_current_only_if_both_sides_match() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.wasm");
        let made = Made {
            of: digest(&[b"module"]),
            component: digest(&[b"component"]),
        };
        assert!(!is_current(Some(&made), &made.of, &path), "missing");
        replace(&path, b"component").expect("it is written");
        assert!(is_current(Some(&made), &made.of, &path));
        assert!(!is_current(None, &made.of, &path), "unrecorded");
        assert!(!is_current(Some(&made), "other", &path), "another module");
        replace(&path, b"tampered").expect("it is written");
        assert!(!is_current(Some(&made), &made.of, &path), "tampered");
    }

    #[test]
    fn components_of_crates_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = || Made {
            of: String::new(),
            component: String::new(),
        };
        let mut record = BTreeMap::from([("a".to_owned(), made()), ("b".to_owned(), made())]);
        for name in ["a.wasm", "b.wasm", "by-hand.wasm"] {
            fs::write(folder.path().join(name), name).expect("it is written");
        }
        write_record(folder.path(), &record).expect("it is written");
        let modules = BTreeMap::from([("a".to_owned(), "a".into())]);
        forget_removed(folder.path(), &mut record, &modules).expect("it is removed");
        let left = |name: &str| folder.path().join(name).exists();
        assert!(left("a.wasm") && !left("b.wasm") && left("by-hand.wasm"));
        assert_eq!(read_record(folder.path()), record);
    }

    #[test]
    fn a_folder_without_a_workspace_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = build(folder.path(), Path::new("out"), &mut |_| {}).expect_err("it is empty");
        assert!(matches!(error, BuildError::NoWorkspace { .. }), "{error}");
    }
}
