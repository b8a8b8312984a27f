//! What a plugin may do besides computing: what its manifest asks *and* its row gives.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::http::HttpGrant;

/// What a plugin is granted, or asks for. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grants {
    /// Files.
    #[serde(default, skip_serializing_if = "FileGrants::is_empty")]
    pub files: FileGrants,
    /// The hosts it may speak to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpGrant>,
    /// Whether clocks run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub clock: bool,
    /// Whether randomness comes from the system and not from the call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub random: bool,
    /// Whether it may look at the sessions of the tree.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sessions: bool,
    /// Whether it may look at the modes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub roster: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// What a plugin may do with files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileGrants {
    /// Where it may look at metadata.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<FileGrant>,
    /// Where it may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<FileGrant>,
}

impl FileGrants {
    const fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.read.is_empty()
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
    /// Returns each grant as a line of text: its key and what it covers.
    pub fn lines(&self) -> Vec<String> {
        let places = |key: &str, places: &[FileGrant]| -> Vec<String> {
            let lines = places.iter().map(|place| format!("{key}: {place}"));
            lines.collect()
        };
        let flags = [
            ("clock", self.clock),
            ("random", self.random),
            ("sessions", self.sessions),
            ("roster", self.roster),
        ];
        let mut lines = places("files.metadata", &self.files.metadata);
        lines.extend(places("files.read", &self.files.read));
        lines.extend(self.http.iter().map(|host| format!("http: {host}")));
        lines.extend(
            flags
                .into_iter()
                .filter(|(_key, given)| *given)
                .map(|(key, _given)| key.to_owned()),
        );
        lines
    }

    /// Returns what is both asked for and given: the only way grants come about.
    pub fn both(asked: &Self, given: &Self) -> Self {
        Self {
            files: FileGrants {
                metadata: places(&asked.files.metadata, &given.files.metadata),
                read: places(&asked.files.read, &given.files.read),
            },
            http: given
                .http
                .iter()
                .filter(|host| asked.http.contains(host))
                .cloned()
                .collect(),
            clock: asked.clock && given.clock,
            random: asked.random && given.random,
            sessions: asked.sessions && given.sessions,
            roster: asked.roster && given.roster,
        }
    }
}

/// Returns the places that both sides cover, so that a row may give less than is asked.
fn places(asked: &[FileGrant], given: &[FileGrant]) -> Vec<FileGrant> {
    let covers = |grants: &[FileGrant], wanted: &FileGrant| {
        grants.iter().any(|grant| match (grant, wanted) {
            (FileGrant::Workspace, FileGrant::Workspace) => true,
            (FileGrant::Folder(outer), FileGrant::Folder(inner)) => inner.starts_with(outer),
            (FileGrant::Workspace, FileGrant::Folder(_))
            | (FileGrant::Folder(_), FileGrant::Workspace) => false,
        })
    };
    let mut both: Vec<FileGrant> = given
        .iter()
        .filter(|grant| covers(asked, grant))
        .cloned()
        .collect();
    for grant in asked.iter().filter(|grant| covers(given, grant)) {
        if !both.contains(grant) {
            both.push(grant.clone());
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(places: &[&str]) -> Vec<FileGrant> {
        places
            .iter()
            .map(|place| FileGrant::try_from((*place).to_owned()).unwrap())
            .collect()
    }

    #[test]
    fn a_place_is_granted_if_it_is_asked_for_and_given() {
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
                places(&grants(asked), &grants(given)),
                grants(expected),
                "{asked:?} {given:?}"
            );
        }
    }

    #[test]
    fn each_grant_needs_both_sides() {
        type Field = fn(&mut Grants);
        let fields: [Field; 7] = [
            |grants| grants.files.metadata = vec![FileGrant::Workspace],
            |grants| grants.files.read = vec![FileGrant::Workspace],
            |grants| grants.http = vec!["example.com".parse().unwrap()],
            |grants| grants.clock = true,
            |grants| grants.random = true,
            |grants| grants.sessions = true,
            |grants| grants.roster = true,
        ];
        for (at, set) in fields.iter().enumerate() {
            let mut one = Grants::default();
            set(&mut one);
            let none = Grants::default();
            assert_eq!(Grants::both(&one, &none), none, "{at}");
            assert_eq!(Grants::both(&none, &one), none, "{at}");
            assert_eq!(Grants::both(&one, &one), one, "{at}");
            for other in &fields[at + 1..] {
                let mut another = Grants::default();
                other(&mut another);
                assert_eq!(Grants::both(&one, &another), none, "{at}");
            }
        }
    }
}
