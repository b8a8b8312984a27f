//! `damper plugin new`: an empty folder becomes a project that builds as it is.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use include_dir::{Dir, DirEntry, include_dir};

use crate::{contract::WIT, vendor, vendor::VendorError};

static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/templates");

/// The owner of plugins whose author names none.
pub const DEFAULT_OWNER: &str = "local";

/// The longest id, as the manifest has it.
const MAX_ID: usize = 64;

/// Names that Rust keeps, or that mean another crate to the compiler.
const KEPT_NAMES: [&str; 45] = [
    "abstract", "alloc", "as", "async", "await", "become", "box", "break", "const", "continue",
    "core", "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen",
    "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv",
    "pub", "ref", "return", "self", "static", "std", "struct", "test", "trait", "try", "type",
];

/// What a new plugin is a start of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It judges calls.
    Guard,
    /// It provides tools.
    Tool,
    /// It declares a mode.
    Preset,
    /// It writes parts of prompts.
    Persona,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Guard, Self::Tool, Self::Preset, Self::Persona];

    /// Returns its name, as a command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Tool => "tool",
            Self::Preset => "preset",
            Self::Persona => "persona",
        }
    }
}

/// The id of a plugin that is to be, `owner/name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginName {
    owner: String,
    /// Names a crate too: begins with a letter, and is no word of Rust's.
    name: String,
}

impl PluginName {
    /// Reads `owner/name`, or `name` of [`DEFAULT_OWNER`].
    ///
    /// # Errors
    ///
    /// Says what about the name is wrong.
    pub fn parse(text: &str) -> Result<Self, NewError> {
        let refused = |why| NewError::Name {
            name: text.to_owned(),
            why,
        };
        let (owner, name) = text.split_once('/').unwrap_or((DEFAULT_OWNER, text));
        let is_plain = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        if !is_plain(owner) || !is_plain(name) {
            return Err(refused(
                "a name is `name` or `owner/name`, of lower-case letters, digits and `-`",
            ));
        }
        if owner.len() + 1 + name.len() > MAX_ID {
            return Err(refused("`owner/name` has at most 64 characters"));
        }
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(refused("it names a crate too, so it begins with a letter"));
        }
        if KEPT_NAMES.contains(&name) || is_locked(name) {
            return Err(refused(
                "Rust or a crate that plugins use has that name; choose another, for instance with `my-` before it",
            ));
        }
        Ok(Self {
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns the name without the owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn in_pascal_case(&self) -> String {
        self.name
            .split('-')
            .filter_map(|word| {
                let mut letters = word.chars();
                let first = letters.next()?.to_ascii_uppercase();
                Some(std::iter::once(first).chain(letters).collect::<String>())
            })
            .collect()
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// Two packages of one name would be one too many for cargo's command lines.
fn is_locked(name: &str) -> bool {
    let line = format!("name = \"{name}\"");
    let is_external = |package: &str| package.contains("\nsource = ");
    vendor::LOCK
        .split("[[package]]")
        .any(|package| package.contains(&line) && (is_external(package) || name == "damper-guest"))
}

/// Why there is no new project.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// The name is none that a plugin can have.
    #[error("`{name}` cannot be a plugin's name: {why}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There is something already.
    #[error(
        "`{}` is there already and is not overwritten; remove it, or name another folder with --path",
        .0.display()
    )]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("cannot write `{}`: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The SDK cannot be handed out.
    #[error(transparent)]
    Vendor(#[from] VendorError),
    /// This binary lacks a template.
    #[error("this `damper` has no template for a {0}")]
    NoTemplate(&'static str),
}

/// Makes a project that builds as it is, and returns its files.
///
/// The folder may exist if it is empty. The SDK and the contract are put into `vendor`, so that
/// the project needs nothing but a Rust toolchain.
///
/// # Errors
///
/// Says what is in the way. Nothing that exists is changed.
pub fn new_plugin(name: &PluginName, kind: Kind, folder: &Path) -> Result<Vec<PathBuf>, NewError> {
    let is_taken = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if is_taken {
        return Err(NewError::Exists(folder.to_owned()));
    }
    let files = project(name, kind)?;
    for (path, text) in &files {
        write(&folder.join(path), text)?;
    }
    Ok(files.into_iter().map(|(path, _text)| path).collect())
}

fn write(path: &Path, text: &str) -> Result<(), NewError> {
    let written = match path.parent() {
        Some(parent) => fs::create_dir_all(parent),
        None => Ok(()),
    };
    written
        .and_then(|()| fs::write(path, text))
        .map_err(|source| NewError::File {
            path: path.to_owned(),
            source,
        })
}

/// Returns the files of a new project, with what they hold.
fn project(name: &PluginName, kind: Kind) -> Result<Vec<(PathBuf, String)>, NewError> {
    let mut files = Vec::new();
    for folder in ["common", kind.name()] {
        let template = TEMPLATES.get_dir(folder);
        let template = template.ok_or(NewError::NoTemplate(kind.name()))?;
        for (path, text) in texts_below(template) {
            files.push((
                PathBuf::from(filled(&path.display().to_string(), name, kind)),
                filled(text, name, kind),
            ));
        }
    }
    // The versions that the SDK is tested with. Cargo drops what this project does not use.
    files.push((PathBuf::from("Cargo.lock"), vendor::LOCK.to_owned()));
    for (path, text) in texts_below(&vendor::SDK) {
        let text = if path.ends_with("Cargo.toml") {
            vendor::standalone(text, vendor::WORKSPACE)?
        } else {
            text.to_owned()
        };
        files.push((Path::new("vendor/guest-sdk").join(path), text));
    }
    for (path, text) in texts_below(&WIT) {
        files.push((Path::new("vendor/wit").join(path), text.to_owned()));
    }
    Ok(files)
}

/// Returns the files below a folder by their paths in it.
fn texts_below<'a>(folder: &'a Dir<'a>) -> Vec<(PathBuf, &'a str)> {
    fn collect<'a>(folder: &'a Dir<'a>, root: &Path, texts: &mut Vec<(PathBuf, &'a str)>) {
        for entry in folder.entries() {
            match entry {
                DirEntry::Dir(inner) => collect(inner, root, texts),
                DirEntry::File(file) => {
                    let path = file.path().strip_prefix(root).unwrap_or(file.path());
                    texts.extend(file.contents_utf8().map(|text| (path.to_owned(), text)));
                }
            }
        }
    }
    let mut texts = Vec::new();
    collect(folder, folder.path(), &mut texts);
    texts
}

fn filled(text: &str, name: &PluginName, kind: Kind) -> String {
    let crate_name = name.name.replace('-', "_");
    [
        ("{{id}}", name.to_string().as_str()),
        ("{{name}}", name.name()),
        ("{{crate}}", crate_name.as_str()),
        ("{{Type}}", name.in_pascal_case().as_str()),
        ("{{kind}}", kind.name()),
        ("{{damper}}", env!("CARGO_PKG_VERSION")),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (place, value)| {
        text.replace(place, value)
    })
}

#[cfg(test)]
mod tests {
    use super::{Kind, PluginName, new_plugin, project};

    #[test]
    fn names_are_those_of_crates_and_plugins() {
        let table = [
            ("no-force", Ok("local/no-force")),
            ("acme/no-force2", Ok("acme/no-force2")),
            ("", Err("lower-case letters")),
            ("No-Force", Err("lower-case letters")),
            ("a/b/c", Err("lower-case letters")),
            ("../escape", Err("lower-case letters")),
            ("2fast", Err("begins with a letter")),
            ("-x", Err("begins with a letter")),
            ("match", Err("has that name")),
            ("serde", Err("has that name")),
            ("damper-guest", Err("has that name")),
        ];
        for (text, expected) in table {
            match (PluginName::parse(text), expected) {
                (Ok(name), Ok(expected)) => assert_eq!(name.to_string(), expected),
                (Err(error), Err(part)) => {
                    let error = error.to_string();
                    assert!(error.contains(part), "{text}: {error}");
                }
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
        let long = format!("a/{}", "b".repeat(63));
        PluginName::parse(&long).expect_err("65 characters are one too many");
    }

    #[test]
    fn each_kind_fills_all_places_and_brings_cases_that_read() {
        let name = PluginName::parse("acme/two-words").unwrap();
        for kind in Kind::ALL {
            let files = project(&name, kind).unwrap();
            let named = |path: &str| {
                let found = files.iter().find(|(file, _)| file.as_os_str() == path);
                &found.unwrap_or_else(|| panic!("{kind:?} lacks {path}")).1
            };
            for path in ["Cargo.toml", "README.md", ".gitignore", "src/lib.rs"] {
                let text = named(path);
                assert!(!text.contains("{{"), "{kind:?} {path}: {text}");
            }
            assert!(named("src/lib.rs").contains("\"acme/two-words\""));
            assert!(named("vendor/wit/types.wit").contains("package damper:plugin@"));
            let cases = named("cases/two-words.jsonl");
            assert!(cases.lines().count() >= 2, "{cases}");
            for line in cases.lines() {
                serde_json::from_str::<serde_json::Value>(line).expect(line);
            }
        }
    }

    #[test]
    fn nothing_that_exists_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let name = PluginName::parse("x").unwrap();
        new_plugin(&name, Kind::Guard, folder.path()).expect("an empty folder is fine");
        let before = std::fs::read(folder.path().join("src/lib.rs")).unwrap();
        let error = new_plugin(&name, Kind::Tool, folder.path()).unwrap_err();
        assert!(error.to_string().contains("--path"), "{error}");
        let file = folder.path().join("README.md");
        new_plugin(&name, Kind::Tool, &file).expect_err("a file is in the way");
        assert_eq!(
            std::fs::read(folder.path().join("src/lib.rs")).unwrap(),
            before
        );
    }
}
