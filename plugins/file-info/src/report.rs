//! What `file_info` answers, for programs and as text.

use std::fmt::Write;

use damper_guest::{FileError, FileKind, Metadata, Output};
use serde::Serialize;
use serde_json::json;

/// What is known of one path.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    requested_path: String,
    resolved_path: String,
    status: Status,
    size_known: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Status {
    File,
    Directory,
    Other,
    Missing,
    Error,
}

/// All entries, in the order they were asked for, and what they add up to.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    entries: Vec<Entry>,
    totals: Totals,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    requested: usize,
    files: usize,
    directories: usize,
    others: usize,
    missing: usize,
    errors: usize,
    bytes: u64,
    unknown_sizes: usize,
    complete: bool,
}

impl Entry {
    pub(crate) fn new(requested: String, answer: Result<Metadata, FileError>) -> Self {
        let unresolved = |status, note: Option<String>| Self {
            resolved_path: requested.clone(),
            requested_path: requested.clone(),
            status,
            size_known: false,
            size_bytes: None,
            note,
        };
        let metadata = match answer {
            Ok(metadata) => metadata,
            Err(FileError::NotFound) => return unresolved(Status::Missing, None),
            Err(FileError::NotGranted) => {
                let note = "not covered by what this plugin may look at";
                return unresolved(Status::Error, Some(note.to_owned()));
            }
            Err(FileError::InvalidPath(why) | FileError::Failed(why)) => {
                return unresolved(Status::Error, Some(why));
            }
        };
        let (status, size) = match metadata.kind {
            FileKind::File => (Status::File, metadata.size),
            FileKind::Directory => (Status::Directory, None),
            FileKind::Other => (Status::Other, None),
        };
        let odd = status == Status::File && size.is_none();
        Self {
            requested_path: requested,
            resolved_path: metadata.resolved,
            status,
            size_known: size.is_some(),
            size_bytes: size,
            note: odd.then(|| "the size is UNKNOWN".to_owned()),
        }
    }
}

impl Report {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        let count = |status| {
            entries
                .iter()
                .filter(|entry| entry.status == status)
                .count()
        };
        let files = count(Status::File);
        let known = entries.iter().filter(|entry| entry.size_known).count();
        let totals = Totals {
            requested: entries.len(),
            files,
            directories: count(Status::Directory),
            others: count(Status::Other),
            missing: count(Status::Missing),
            errors: count(Status::Error),
            bytes: entries
                .iter()
                .filter_map(|entry| entry.size_bytes)
                .fold(0, u64::saturating_add),
            unknown_sizes: files - known,
            complete: known == entries.len(),
        };
        Self { entries, totals }
    }

    pub(crate) fn into_output(self) -> Output {
        Output {
            text: self.text(),
            structured: Some(json!(self)),
        }
    }

    fn text(&self) -> String {
        let totals = &self.totals;
        let mut text = format!(
            "<file-info requested=\"{}\" files=\"{}\" directories=\"{}\" others=\"{}\" \
             missing=\"{}\" errors=\"{}\" bytes=\"{}\" unknown-sizes=\"{}\" complete=\"{}\">\n",
            totals.requested,
            totals.files,
            totals.directories,
            totals.others,
            totals.missing,
            totals.errors,
            totals.bytes,
            totals.unknown_sizes,
            totals.complete,
        );
        if !totals.complete {
            text.push_str("warning: bytes is partial, it counts only files of known size\n");
        }
        for entry in &self.entries {
            entry.write(&mut text);
        }
        text.push_str("</file-info>");
        text
    }
}

impl Entry {
    fn write(&self, text: &mut String) {
        let tag = match self.status {
            Status::File => "file",
            Status::Directory => "directory",
            Status::Other => "other",
            Status::Missing => "missing",
            Status::Error => "error",
        };
        text.push('<');
        text.push_str(tag);
        attribute(text, "path", &self.requested_path);
        if self.resolved_path != self.requested_path {
            attribute(text, "resolved", &self.resolved_path);
        }
        if self.status == Status::File {
            let bytes = self.size_bytes.map(|bytes| bytes.to_string());
            attribute(text, "bytes", bytes.as_deref().unwrap_or("unknown"));
        }
        if let Some(note) = &self.note {
            attribute(text, "note", note);
        }
        text.push_str("/>\n");
    }
}

/// Control characters are escaped too, so that a path cannot forge a line of its own.
fn attribute(text: &mut String, name: &str, value: &str) {
    text.push(' ');
    text.push_str(name);
    text.push_str("=\"");
    for character in value.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            control if control.is_control() => {
                write!(text, "&#{};", u32::from(control)).expect("a string takes any text");
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
}
