//! Plugins in languages without an SDK: `damper.toml` says what an SDK's guest would answer.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use damper_wasm::{API_VERSION, AskedLimits, Grants, Hook, Manifest};
use semver::Version;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    build_guests::{BuildError, Step, refuse},
    check::check_imports,
    componentize::componentize,
    contract::{Interface, PACKAGE, read_component},
};

/// The file beside the sources.
pub(crate) const RECIPE: &str = "damper.toml";

/// The variable that tells the build command which `damper` runs it.
const DAMPER: &str = "DAMPER";

/// Why a plugin with a `damper.toml` could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The file does not read.
    #[error("{}:{line}:{column}: {message}", .path.display())]
    Recipe {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// It names no product, or two.
    #[error(
        "{}: must have either `component`, a component's file, or `module`, that of a core module \
         with a `component-type` section", .0.display()
    )]
    Product(PathBuf),
    /// `build` is there and empty.
    #[error(
        "{}: `build` is empty; leave it out, or write `build = [\"npm\", \"run\", \"build\"]`",
        .0.display()
    )]
    NoCommand(PathBuf),
    /// The command could not be started.
    #[error("`{command}`, the `build` of {}, could not be started: {source}", .recipe.display())]
    NotStarted {
        /// The command.
        command: String,
        /// The file that names it.
        recipe: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The command failed; it has said why.
    #[error("`{command}`, the `build` of {}, failed: {status}", .recipe.display())]
    Command {
        /// The command.
        command: String,
        /// The file that names it.
        recipe: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
    /// A file that it names is not there.
    #[error("{}, which `{key}` of {RECIPE} names: {source}", .path.display())]
    Named {
        /// The key.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The JSON Schema's file is no JSON object.
    #[error("{}, which `config_schema` of {RECIPE} names, holds no JSON object: {source}", .path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// What was built is no plugin.
    #[error("{}: {source:#}", .path.display())]
    Component {
        /// The product.
        path: PathBuf,
        /// What is wrong with it.
        source: anyhow::Error,
    },
    /// The hooks that it lists are not those that the component exports.
    #[error("{}: {problem}", .recipe.display())]
    Hooks {
        /// The file.
        recipe: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// The file could not be read.
    #[error("{}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What `damper.toml` holds: the manifest, and how to get the component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipe {
    id: String,
    version: String,
    description: String,
    hooks: Vec<Hook>,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    limits: AskedLimits,
    config_schema: Option<Schema>,
    #[serde(default)]
    texts: Map<String, Value>,
    component: Option<PathBuf>,
    module: Option<PathBuf>,
    build: Option<Vec<String>>,
}

/// The JSON Schema of the settings.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`config_schema` must be a table, or the name of a JSON file"
)]
enum Schema {
    File(PathBuf),
    Inline(Map<String, Value>),
}

/// What the build leaves behind.
#[derive(Debug)]
enum Product {
    Component(PathBuf),
    Module(PathBuf),
}

impl Product {
    fn key(&self) -> &'static str {
        match self {
            Self::Component(_) => "component",
            Self::Module(_) => "module",
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Component(path) | Self::Module(path) => path,
        }
    }
}

/// A component with its manifest.
#[derive(Debug)]
pub(crate) struct Made {
    /// The name in its id.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) component: Vec<u8>,
}

/// Makes the plugin of a folder with a `damper.toml`.
pub(crate) fn make(folder: &Path, progress: &mut dyn FnMut(Step)) -> Result<Made, BuildError> {
    let recipe_path = folder.join(RECIPE);
    let recipe = read(&recipe_path)?;
    let product = product(&recipe, folder, &recipe_path)?;
    if let Some(build) = &recipe.build {
        run(build, folder, &recipe_path, progress)?;
    }
    let name = recipe
        .id
        .rsplit('/')
        .next()
        .unwrap_or(&recipe.id)
        .to_owned();
    progress(Step::Making { name: name.clone() });
    let bytes = fs::read(product.path()).map_err(named(product.key(), product.path()))?;
    let wrong = |source| ForeignError::Component {
        path: product.path().to_owned(),
        source,
    };
    let component = match product {
        Product::Component(_) => bytes,
        Product::Module(_) => componentize(&bytes).map_err(wrong)?,
    };
    refuse(&name, check_imports(&component).map_err(wrong)?)?;
    let (_imports, mut exports) = read_component(&component).map_err(wrong)?;
    exports.retain(Interface::is_ours);
    check_hooks(&recipe.hooks, &exports, &recipe_path)?;
    let manifest = manifest(recipe, folder, &exports)?;
    let text = serde_json::to_vec(&manifest).map_err(|error| wrong(error.into()))?;
    let component =
        damper_wasm::append_manifest(&component, &text).map_err(|error| wrong(error.into()))?;
    Ok(Made { name, component })
}

fn read(path: &Path) -> Result<Recipe, ForeignError> {
    let text = fs::read_to_string(path).map_err(|source| ForeignError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    toml_edit::de::from_str(&text).map_err(|error| {
        let (line, column) = place(&text, error.span().map_or(0, |span| span.start));
        ForeignError::Recipe {
            path: path.to_owned(),
            line,
            column,
            message: error.message().to_owned(),
        }
    })
}

/// Returns line and column of a byte, both from 1.
fn place(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

fn product(recipe: &Recipe, folder: &Path, path: &Path) -> Result<Product, ForeignError> {
    match (&recipe.component, &recipe.module) {
        (Some(component), None) => Ok(Product::Component(folder.join(component))),
        (None, Some(module)) => Ok(Product::Module(folder.join(module))),
        (Some(_), Some(_)) | (None, None) => Err(ForeignError::Product(path.to_owned())),
    }
}

/// Runs the author's command where its sources are. It takes the time it takes, and what it
/// prints goes where our own messages go.
fn run(
    build: &[String],
    folder: &Path,
    recipe: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<(), ForeignError> {
    let Some((program, arguments)) = build.split_first() else {
        return Err(ForeignError::NoCommand(recipe.to_owned()));
    };
    let line = build.join(" ");
    progress(Step::Running {
        command: line.clone(),
        folder: folder.to_owned(),
    });
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(io::stderr());
    // Without it the command finds the one on the path, as it does when run by hand.
    if let Ok(damper) = std::env::current_exe() {
        command.env(DAMPER, damper);
    }
    let status = command
        .status()
        .map_err(|source| ForeignError::NotStarted {
            command: line.clone(),
            recipe: recipe.to_owned(),
            source,
        })?;
    if status.success() {
        return Ok(());
    }
    Err(ForeignError::Command {
        command: line,
        recipe: recipe.to_owned(),
        status,
    })
}

fn named<'a>(key: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> ForeignError + 'a {
    move |source| ForeignError::Named {
        key,
        path: path.to_owned(),
        source,
    }
}

/// A hook that is listed and not there would fail in each call; one that is there and not
/// listed would silently never be asked.
fn check_hooks(listed: &[Hook], exports: &[Interface], recipe: &Path) -> Result<(), ForeignError> {
    let exported = |hook: Hook| exports.iter().any(|export| export.name == hook.as_str());
    for hook in Hook::ALL {
        let name = hook.as_str();
        let problem = match (listed.contains(&hook), exported(hook)) {
            (true, false) => format!(
                "`hooks` lists `{name}`, but the component does not export \
                 `{PACKAGE}/{name}`; was it built for the world `{name}-plugin`?"
            ),
            (false, true) => {
                format!(
                    "the component exports `{PACKAGE}/{name}`, but `hooks` does not list `{name}`"
                )
            }
            (true, true) | (false, false) => continue,
        };
        return Err(ForeignError::Hooks {
            recipe: recipe.to_owned(),
            problem,
        });
    }
    Ok(())
}

/// The version of the contract is the one that the component itself names.
fn manifest(
    recipe: Recipe,
    folder: &Path,
    exports: &[Interface],
) -> Result<Manifest, ForeignError> {
    let version = exports.first().and_then(|export| export.version.as_ref());
    let api = version.map_or_else(|| API_VERSION.to_owned(), Version::to_string);
    let config_schema = match recipe.config_schema {
        None => Map::new(),
        Some(Schema::Inline(schema)) => schema,
        Some(Schema::File(name)) => read_schema(&folder.join(name))?,
    };
    Ok(Manifest {
        id: recipe.id,
        version: recipe.version,
        description: recipe.description,
        api,
        hooks: recipe.hooks,
        grants: recipe.grants,
        limits: recipe.limits,
        config_schema,
        texts: recipe.texts,
    })
}

fn read_schema(path: &Path) -> Result<Map<String, Value>, ForeignError> {
    let text = fs::read(path).map_err(named("config_schema", path))?;
    serde_json::from_slice(&text).map_err(|source| ForeignError::Schema {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use tempfile::TempDir;

    use super::{RECIPE, make, place};

    /// A component without exports.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    const GOOD: &str = "\
id = \"a/b\"
version = \"0.1.0\"
description = \"d\"
hooks = [\"guard\"]
component = \"b.wasm\"
";

    fn folder(recipe: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RECIPE), recipe).unwrap();
        folder
    }

    /// Returns the error of a recipe, with the folder left out.
    fn error(folder: &Path) -> String {
        let error = make(folder, &mut |_| {}).unwrap_err().to_string();
        error.replace(&format!("{}/", folder.display()), "")
    }

    #[test]
    fn refuses_what_it_does_not_understand_and_says_where() {
        let table = [
            ("grant = {}\n", "damper.toml:6:1: unknown field `grant`"),
            (
                "[grants]\nfile = []\n",
                "damper.toml:7:1: unknown field `file`",
            ),
            (
                "[limits]\nmemory = 1\n",
                "damper.toml:7:1: unknown field `memory`",
            ),
            (
                "config_schema = 3\n",
                "damper.toml:6:17: `config_schema` must be a table",
            ),
            (
                "module = \"m.wasm\"\n",
                "damper.toml: must have either `component`",
            ),
            ("build = []\n", "damper.toml: `build` is empty"),
            ("größe =\n", "damper.toml:6:"),
        ];
        for (more, expected) in table {
            let folder = folder(&format!("{GOOD}{more}"));
            let message = error(folder.path());
            assert!(message.starts_with(expected), "{more}: {message}");
        }
        let unknown_hook = folder(&GOOD.replace("[\"guard\"]", "[\"gourd\"]"));
        let message = error(unknown_hook.path());
        assert!(
            message.starts_with("damper.toml:4:10: unknown variant `gourd`"),
            "{message}"
        );
    }

    #[test]
    fn counts_columns_in_characters() {
        assert_eq!(place("a\näöx", 6), (2, 3));
        assert_eq!(place("", 0), (1, 1));
    }

    #[test]
    fn names_what_is_missing() {
        let table = [
            ("", "b.wasm, which `component` of damper.toml names: "),
            (
                "build = [\"no-such-command\", \"x\"]\n",
                "`no-such-command x`, the `build` of damper.toml, could not be started: ",
            ),
            (
                "build = [\"sh\", \"-c\", \"exit 3\"]\n",
                "`sh -c exit 3`, the `build` of damper.toml, failed: exit status: 3",
            ),
        ];
        for (more, expected) in table {
            let folder = folder(&format!("{GOOD}{more}"));
            let message = error(folder.path());
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn refuses_hooks_that_the_component_does_not_export() {
        let folder = folder(GOOD);
        fs::write(folder.path().join("b.wasm"), EMPTY).unwrap();
        let message = error(folder.path());
        let expected = "damper.toml: `hooks` lists `guard`, but the component does not export";
        assert!(message.starts_with(expected), "{message}");
    }

    #[test]
    fn refuses_a_module_that_says_nothing_of_its_world() {
        let folder = folder(&GOOD.replace("component =", "module ="));
        fs::write(folder.path().join("b.wasm"), b"\0asm\x01\0\0\0").unwrap();
        let message = error(folder.path());
        assert!(message.contains("does not export"), "{message}");
    }
}
