//! Deleting what lies in a folder for temporary files needs no question.
//!
//! Paths are compared as they are written. Resolving symbolic links is left to the
//! host's file metadata.

use crate::classify::Context;
use crate::invocation::Word;

/// What makes a text more than one plain command. In such a text nothing is exempt.
const METACHARACTERS: &[char] = &[',', '\n', ';', '|', '&', '`', '$', '>', '<'];

/// Returns whether `text` is one plain command, so that its operands are all there is.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.trim().contains(METACHARACTERS)
}

/// Returns whether all of `operands` lie in folders for temporary files.
pub(crate) fn covers(context: &Context<'_>, operands: &[&Word]) -> bool {
    !operands.is_empty()
        && operands
            .iter()
            .all(|word| word.is_constant() && is_temporary(context, &word.text))
}

fn is_temporary(context: &Context<'_>, path: &str) -> bool {
    let Some(path) = Absolute::read(path) else {
        return false;
    };
    context
        .temp_roots
        .iter()
        .filter_map(|root| Absolute::read(root))
        .any(|root| {
            is_acceptable_root(context, &root)
                && path
                    .below(&root)
                    .is_some_and(|first| !first.contains(['*', '?', '[']))
        })
}

/// A root that holds the workspace or the home folder protects nothing.
fn is_acceptable_root(context: &Context<'_>, root: &Absolute<'_>) -> bool {
    let holds = |folder: &str| Absolute::read(folder).is_some_and(|folder| folder.is_in(root));
    !root.parts.is_empty()
        && !holds(context.cwd)
        && !context.roots.iter().any(|workspace| holds(workspace))
        && !context.home.is_some_and(holds)
}

/// An absolute path without `.` and `..`, cut into its parts.
struct Absolute<'a> {
    /// The drive letter in lower case, for paths of Windows.
    drive: Option<u8>,
    parts: Vec<&'a str>,
}

impl<'a> Absolute<'a> {
    fn read(path: &'a str) -> Option<Self> {
        let (drive, rest) = match path.as_bytes() {
            [b'/', ..] => (None, path),
            [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic() => {
                (Some(letter.to_ascii_lowercase()), &path[2..])
            }
            _ => return None,
        };
        let separators: &[char] = if drive.is_some() {
            &['/', '\\']
        } else {
            &['/']
        };
        let parts: Vec<&str> = rest
            .split(separators)
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        (!parts.contains(&"..")).then_some(Self { drive, parts })
    }

    /// Returns the part that follows `root`, if this path is inside `root` and not the root itself.
    fn below(&self, root: &Self) -> Option<&'a str> {
        if self.is_in(root) {
            self.parts.get(root.parts.len()).copied()
        } else {
            None
        }
    }

    fn is_in(&self, root: &Self) -> bool {
        let same = |(a, b): (&&str, &&str)| {
            if self.drive.is_some() {
                a.eq_ignore_ascii_case(b)
            } else {
                a == b
            }
        };
        self.drive == root.drive
            && self.parts.len() >= root.parts.len()
            && self.parts.iter().zip(&root.parts).all(same)
    }
}
