//! Finding a toolchain that compiles for `wasm32-wasip1`.
//!
//! A ladder, each step bounded in time and announced: the target as it is installed,
//! `rustup target add`, and on Debian the packages of the distribution, with which std
//! is compiled too. Debian's way exists because rustup hangs behind closed networks.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{
    Step,
    bounded::{Ending, run_bounded},
};

/// What components are compiled for. `wasm32-unknown-unknown` is a trap: on it crates
/// import JavaScript.
pub(crate) const TARGET: &str = "wasm32-wasip1";

/// How long `rustup target add` may take. It downloads 20 MB, or hangs.
const RUSTUP_LIMIT: Duration = Duration::from_secs(20);

/// How long apt may take, in seconds. It downloads 150 MB.
const APT_LIMIT_SECONDS: u32 = 300;

/// What Debian needs to compile for wasm32-wasip1.
const DEBIAN_PACKAGES: [&str; 5] = [
    "rustc-web",
    "cargo-web",
    "rust-web-src",
    "lld-19",
    "wasi-libc",
];

/// The note in the target folder that says that rustup failed.
const RUSTUP_NOTE: &str = "rustup-target-add-failed";

/// Something that compiles for `wasm32-wasip1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolchain {
    /// The `cargo` on the path, whose compiler has the target installed.
    Installed,
    /// Debian's packages. They bring no std for the target, so that it is compiled too.
    Debian,
}

/// Why no toolchain was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "nothing here compiles for {TARGET}: {}; install the target with \
     `rustup target add {TARGET}`, or on Debian, as root, `apt-get install {}`",
    .tried.join("; "),
    DEBIAN_PACKAGES.join(" ")
)]
pub struct TargetError {
    /// What was tried, and how it failed.
    pub tried: Vec<String>,
}

impl Toolchain {
    /// Returns the first toolchain of the ladder that works, and installs what it lacks.
    ///
    /// `workspace` is where it will be used, `target_dir` where it remembers failures.
    ///
    /// # Errors
    ///
    /// Says what was tried, and what a person can install.
    pub fn find(
        workspace: &Path,
        target_dir: &Path,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, TargetError> {
        if target_is_installed(workspace) {
            return Ok(Self::Installed);
        }
        let mut tried = Vec::new();
        match add_target(workspace, target_dir, progress) {
            Ok(()) => return Ok(Self::Installed),
            Err(why) => tried.push(why),
        }
        match install_packages(progress) {
            Ok(()) => Ok(Self::Debian),
            Err(why) => {
                tried.push(why);
                Err(TargetError { tried })
            }
        }
    }

    /// Returns the command that compiles a workspace to core modules in `target_dir`.
    pub fn command(self, workspace: &Path, target_dir: &Path) -> Command {
        let (program, mut flags) = match self {
            Self::Installed => ("cargo", Vec::new()),
            Self::Debian => ("/usr/bin/cargo", debian_flags()),
        };
        flags.extend(remap_flags(workspace));
        let mut command = Command::new(program);
        command
            .current_dir(workspace)
            .args(["build", "--release", "--target", TARGET])
            .arg("--target-dir")
            .arg(target_dir)
            // Of all the ways to pass flags the one that no setting of the user beats.
            .env(
                "CARGO_ENCODED_RUSTFLAGS",
                flags.join(&OsString::from("\u{1f}")),
            );
        if self == Self::Debian {
            command
                .arg("-Zbuild-std=std,panic_abort")
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTC", "/usr/bin/rustc")
                .env("CARGO_TARGET_WASM32_WASIP1_LINKER", "wasm-ld-19")
                // Under `cargo run` it leads to the libraries of another compiler.
                .env_remove("LD_LIBRARY_PATH");
        }
        command
    }
}

fn debian_flags() -> Vec<OsString> {
    [
        "-Clink-self-contained=no",
        "-Lnative=/usr/lib/wasm32-wasi",
        "-Clink-arg=/usr/lib/wasm32-wasi/crt1-reactor.o",
        "-Clink-arg=-lc",
    ]
    .map(OsString::from)
    .into()
}

/// Keeps the paths of this machine out of panic messages: the same sources shall make
/// the same bytes in whatever folder they are.
fn remap_flags(workspace: &Path) -> Vec<OsString> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    // Path dependencies lie beside the workspace as often as in it.
    let sources = workspace.parent().map(Path::to_path_buf);
    [(sources, "=/src"), (cargo_home, "=/cargo")]
        .into_iter()
        .filter_map(|(path, name)| {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(path?);
            flag.push(name);
            Some(flag)
        })
        .collect()
}

/// Asks the compiler that cargo would use for its folder and looks there: rustup knows
/// nothing of compilers that it did not install.
fn target_is_installed(workspace: &Path) -> bool {
    let Ok(output) = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
    else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&output.stdout);
    let libraries = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .join("lib");
    fs::read_dir(libraries).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

fn add_target(
    workspace: &Path,
    target_dir: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<(), String> {
    let note = target_dir.join(RUSTUP_NOTE);
    if note.exists() {
        progress(Step::SkippingRustup { note: note.clone() });
        return Err(format!(
            "rustup failed before (delete {} to retry)",
            note.display()
        ));
    }
    progress(Step::AddingTarget {
        limit: RUSTUP_LIMIT,
    });
    let ending = run_bounded(
        Command::new("rustup")
            .args(["target", "add", TARGET])
            .current_dir(workspace)
            .stderr(Stdio::inherit()),
        RUSTUP_LIMIT,
    );
    let why = match ending {
        Ok(Ending::Exited(status)) if status.success() => {
            if target_is_installed(workspace) {
                return Ok(());
            }
            "rustup added the target to another compiler than the one on the path".to_owned()
        }
        Ok(Ending::Exited(status)) => format!("`rustup target add` failed: {status}"),
        Ok(Ending::TimedOut) => format!(
            "`rustup target add` did not end within {} s",
            RUSTUP_LIMIT.as_secs()
        ),
        // Nothing is remembered: looking for a missing program takes no time.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("there is no rustup".to_owned());
        }
        Err(error) => format!("rustup could not be started: {error}"),
    };
    // Without the note the next run tries again, which is slow and does no harm.
    match fs::create_dir_all(target_dir).and_then(|()| fs::write(&note, format!("{why}\n"))) {
        Ok(()) => Err(format!("{why} (remembered in {})", note.display())),
        Err(error) => Err(format!("{why} (not remembered: {error})")),
    }
}

fn install_packages(progress: &mut dyn FnMut(Step)) -> Result<(), String> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this is not Debian".to_owned());
    }
    if packages_are_installed() {
        return Ok(());
    }
    if !is_root() {
        return Err("this is Debian, but only root can install packages".to_owned());
    }
    progress(Step::InstallingPackages {
        packages: &DEBIAN_PACKAGES,
        limit: Duration::from_secs(APT_LIMIT_SECONDS.into()),
    });
    // `timeout` asks apt to stop, where killing it could leave packages half installed.
    // An update that fails in part is no reason to stop: the lists may be good enough.
    let script = format!(
        "apt-get update -qq; apt-get install -y -qq --no-install-recommends {}",
        DEBIAN_PACKAGES.join(" ")
    );
    let status = Command::new("timeout")
        .args([
            "--kill-after=30",
            &APT_LIMIT_SECONDS.to_string(),
            "sh",
            "-c",
            &script,
        ])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("apt-get could not be started: {error}"))?;
    match status.code() {
        Some(0) if packages_are_installed() => Ok(()),
        Some(124 | 137) => Err(format!("apt-get did not end within {APT_LIMIT_SECONDS} s")),
        Some(_) | None => Err(format!("apt-get could not install the packages: {status}")),
    }
}

fn packages_are_installed() -> bool {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Abbrev}\n"])
        .args(DEBIAN_PACKAGES)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.is_ok_and(|output| {
        let statuses = String::from_utf8_lossy(&output.stdout);
        statuses
            .lines()
            .filter(|status| status.starts_with("ii"))
            .count()
            == DEBIAN_PACKAGES.len()
    })
}

#[cfg(target_os = "linux")]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;

    // The folder belongs to the effective user of the process.
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

#[cfg(not(target_os = "linux"))]
const fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{TargetError, Toolchain, add_target};
    use crate::Step;

    #[test]
    fn a_failure_of_rustup_is_remembered() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("rustup-target-add-failed"), "").expect("a note");
        let mut steps = Vec::new();
        let why = add_target(folder.path(), folder.path(), &mut |step| steps.push(step))
            .expect_err("it is not tried again");
        assert!(why.contains("rustup-target-add-failed to retry"), "{why}");
        assert!(
            matches!(steps[..], [Step::SkippingRustup { .. }]),
            "{steps:?}"
        );
    }

    #[test]
    fn the_error_says_what_to_install() {
        let error = TargetError {
            tried: vec![
                "there is no rustup".to_owned(),
                "this is not Debian".to_owned(),
            ],
        };
        assert_eq!(
            error.to_string(),
            "nothing here compiles for wasm32-wasip1: there is no rustup; this is not Debian; \
             install the target with `rustup target add wasm32-wasip1`, or on Debian, as root, \
             `apt-get install rustc-web cargo-web rust-web-src lld-19 wasi-libc`"
        );
    }

    #[test]
    fn debian_compiles_std_with_its_own_compiler() {
        let command = Toolchain::Debian.command(Path::new("/a/plugins"), Path::new("/a/target"));
        let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        assert_eq!(
            arguments.join(" "),
            "build --release --target wasm32-wasip1 --target-dir /a/target \
             -Zbuild-std=std,panic_abort"
        );
        let flags = command
            .get_envs()
            .find_map(|(name, value)| (name == "CARGO_ENCODED_RUSTFLAGS").then_some(value))
            .flatten()
            .expect("there are flags")
            .to_string_lossy();
        assert!(
            flags.contains("\u{1f}--remap-path-prefix=/a=/src"),
            "{flags:?}"
        );
    }
}
