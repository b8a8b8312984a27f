//! `grep`: a regular expression over the files of a folder, with ripgrep's own crates.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use damper_call::{Output, ToolDefinition};
use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{DirEntry, WalkBuilder};
use serde::Deserialize;
use serde_json::json;

use crate::{
    ToolContext, ToolResult,
    context::{Stop, run_blocking},
    native::reading_tool,
    reach::Reach,
};

/// The most lines that are returned, as in the harness whose prompts carry over.
const MAX_MATCHES: usize = 250;

/// How long a search may take, whatever the caller allows.
const LIMIT: Duration = Duration::from_secs(30);

/// The longest line that is returned, in characters: a match in a minified file should
/// not fill the answer.
const MAX_LINE_CHARS: usize = 500;

/// The largest compiled expression, in bytes. Real ones need kilobytes.
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;

/// The longest line that is searched, in bytes; a file with a longer one is skipped.
const MAX_SEARCHED_LINE_BYTES: usize = 32 * 1024 * 1024;

/// What `grep` is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

pub(crate) fn definition() -> ToolDefinition {
    reading_tool(
        "grep",
        "Searches the contents of files for a regular expression (ripgrep's syntax) and \
         returns up to 250 lines as `path:line:text`. Files that .gitignore names, binary \
         files, links and .git folders are skipped; other files whose names begin with a \
         dot are searched. Case matters, unless the pattern begins with `(?i)`. A match \
         lies within one line.",
        json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The regular expression. Escape `\\`, `.`, `(`, `{`, `[` \
                                    with a backslash to find them as they are."
                },
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The file or folder to search. Default: the working folder."
                },
                "include": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Searches only files that fit this glob, for instance \
                                    `*.rs`, `*.{ts,tsx}` or `src/**/*.py`."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
        &["path"],
    )
}

pub(crate) async fn run(order: Order, context: &ToolContext) -> ToolResult {
    let matcher = match compile(&order.pattern) {
        Ok(matcher) => matcher,
        Err(error) => {
            return ToolResult::error(format!("the pattern is not a valid expression: {error}"));
        }
    };
    let include = match order.include.as_deref().map(Include::new).transpose() {
        Ok(include) => include,
        Err(error) => return ToolResult::error(format!("include is not a valid glob: {error}")),
    };
    let place = context.clone();
    run_blocking(Stop::within(LIMIT, context), move |stop| {
        let reach = Reach::new(&place);
        match reach.locate(order.path.as_deref().unwrap_or(".")) {
            Ok(start) => Search::new(&reach, &matcher, stop).run(&start, include.as_ref()),
            Err(refusal) => ToolResult::error(refusal.to_string()),
        }
    })
    .await
}

fn compile(pattern: &str) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .crlf(true)
        .size_limit(MAX_REGEX_BYTES)
        .build(pattern)
}

/// A glob over file names, or over paths below the start when it contains a `/`.
struct Include {
    glob: GlobMatcher,
    whole_path: bool,
}

impl Include {
    fn new(text: &str) -> Result<Self, globset::Error> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()?
            .compile_matcher();
        Ok(Self {
            glob,
            whole_path: text.contains('/'),
        })
    }

    fn fits(&self, file: &Path, start: &Path) -> bool {
        if self.whole_path {
            self.glob.is_match(file.strip_prefix(start).unwrap_or(file))
        } else {
            file.file_name()
                .is_some_and(|name| self.glob.is_match(Path::new(name)))
        }
    }
}

struct Search<'a> {
    reach: &'a Reach,
    matcher: &'a RegexMatcher,
    stop: &'a Stop,
    searcher: Searcher,
    lines: Vec<String>,
    /// Whether there are more matches than are returned.
    more: bool,
    files: usize,
    unreadable: usize,
}

impl<'a> Search<'a> {
    fn new(reach: &'a Reach, matcher: &'a RegexMatcher, stop: &'a Stop) -> Self {
        Self {
            reach,
            matcher,
            stop,
            searcher: SearcherBuilder::new()
                .line_terminator(LineTerminator::crlf())
                .line_number(true)
                .binary_detection(BinaryDetection::quit(0))
                .heap_limit(Some(MAX_SEARCHED_LINE_BYTES))
                .memory_map(MmapChoice::never())
                .build(),
            lines: Vec::new(),
            more: false,
            files: 0,
            unreadable: 0,
        }
    }

    fn run(mut self, start: &Path, include: Option<&Include>) -> ToolResult {
        let wanted = |entry: &DirEntry| {
            is_file(entry) && include.is_none_or(|include| include.fits(entry.path(), start))
        };
        for entry in walk(start, self.reach.hidden()) {
            if self.more || self.stop.reason().is_some() {
                break;
            }
            match entry {
                Ok(entry) if wanted(&entry) => self.file(entry.path()),
                Ok(_folder_link_or_unwanted) => {}
                Err(_unreadable) => self.unreadable += 1,
            }
        }
        self.answer()
    }

    fn file(&mut self, path: &Path) {
        let Ok(file) = self.reach.open(path) else {
            self.unreadable += 1;
            return;
        };
        let before = self.lines.len();
        let mut hits = Hits {
            shown: self.reach.shown(path),
            lines: &mut self.lines,
            more: &mut self.more,
            binary: false,
        };
        let watched = Watched {
            file,
            stop: self.stop,
        };
        let searched = self
            .searcher
            .search_reader(self.matcher, watched, &mut hits);
        if hits.binary {
            self.lines.truncate(before);
        }
        if searched.is_err() && self.stop.reason().is_none() {
            self.unreadable += 1;
        }
        self.files += usize::from(self.lines.len() > before);
    }

    fn answer(self) -> ToolResult {
        let stopped = self.stop.reason().filter(|_| !self.more);
        let mut notes = Vec::new();
        if self.more {
            notes.push(format!(
                "more than {MAX_MATCHES} lines match; narrow the pattern, path or include"
            ));
        }
        if let Some(reason) = stopped {
            notes.push(format!(
                "{}: not everything was searched; narrow path or include",
                reason.words()
            ));
        }
        if self.unreadable > 0 {
            notes.push(format!(
                "files or folders that could not be read: {}",
                self.unreadable
            ));
        }
        if self.lines.is_empty() {
            let so_far = if stopped.is_some() { " so far" } else { "" };
            notes.insert(0, format!("no line matches{so_far}"));
        }
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        for note in notes {
            text.push_str(&format!("[{note}]\n"));
        }
        let output = Output {
            text,
            structured: Some(json!({
                "matches": self.lines.len(),
                "files": self.files,
                "truncated": self.more || stopped.is_some(),
            })),
            is_error: false,
        };
        match stopped {
            Some(reason) => reason.result(output),
            None => ToolResult::Completed(output),
        }
    }
}

fn walk(start: &Path, hidden: &[PathBuf]) -> ignore::Walk {
    let hidden = hidden.to_vec();
    WalkBuilder::new(start)
        .follow_links(false)
        .hidden(false)
        // The person's global list is not the project's.
        .git_global(false)
        .require_git(false)
        .sort_by_file_name(|a, b| a.cmp(b))
        .filter_entry(move |entry| {
            let at_start = entry.depth() == 0;
            let git = entry.file_name() == ".git";
            (at_start || !git) && !hidden.iter().any(|path| entry.path().starts_with(path))
        })
        .build()
}

fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|found| found.is_file())
}

/// A file that ends with an error as soon as the search has to stop.
struct Watched<'a, R> {
    file: R,
    stop: &'a Stop,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.reason() {
            Some(reason) => Err(io::Error::other(reason.words())),
            None => self.file.read(buffer),
        }
    }
}

/// Takes the matches of one file.
struct Hits<'a> {
    shown: String,
    lines: &'a mut Vec<String>,
    more: &'a mut bool,
    binary: bool,
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.lines.len() == MAX_MATCHES {
            *self.more = true;
            return Ok(false);
        }
        let number = found.line_number().unwrap_or(0);
        self.lines.push(format!(
            "{}:{number}:{}",
            self.shown,
            shortened(found.bytes())
        ));
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

fn shortened(line: &[u8]) -> String {
    let kept = &line[..line.len().min(MAX_LINE_CHARS * 4)];
    let decoded = String::from_utf8_lossy(kept);
    let text = decoded.trim_end_matches(['\n', '\r']);
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}... [line cut]", &text[..end]),
        None if kept.len() < line.len() => format!("{text}... [line cut]"),
        None => text.to_owned(),
    }
}
