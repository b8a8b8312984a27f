//! `read`: numbered lines of a text file, in portions that a model can take.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
    time::Duration,
};

use damper_call::{Output, ToolDefinition};
use serde::Deserialize;
use serde_json::json;

use crate::{
    ToolContext, ToolResult,
    context::{Stop, StopReason, run_blocking},
    native::reading_tool,
    reach::Reach,
};

/// The longest excerpt in lines, as in the harness whose prompts carry over.
const MAX_LINES: usize = 2000;

/// The longest line in characters; minified files have lines of megabytes.
const MAX_LINE_CHARS: usize = 2000;

/// The longest excerpt in bytes, numbers included.
const MAX_EXCERPT_BYTES: usize = 51_200;

/// How far into a file one call looks. At the speed of a slow disk, about two seconds.
const MAX_SCANNED_BYTES: u64 = 256 * 1024 * 1024;

/// How much of the beginning tells a binary file from a text, as git does.
const SNIFFED_BYTES: usize = 8192;

/// How long a read may take, whatever the caller allows.
const LIMIT: Duration = Duration::from_secs(30);

/// The most bytes of a line that are kept: enough for [`MAX_LINE_CHARS`] and one more, so
/// that a longer line shows.
const KEPT_LINE_BYTES: usize = (MAX_LINE_CHARS + 1) * 4;

/// What `read` is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    file_path: String,
    offset: Option<u64>,
    limit: Option<usize>,
}

pub(crate) fn definition() -> ToolDefinition {
    reading_tool(
        "read",
        "Reads a text file and returns its lines with their numbers, like `cat -n`. \
         Returns at most 2000 lines or 51200 bytes; longer lines than 2000 characters are \
         cut. When more follows, the answer names the offset to go on with. Binary files \
         and folders are refused.",
        json!({
            "type": "object",
            "properties": {
                "file_path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "The file: absolute, or relative to the working folder. \
                                    It must lie inside the folders of the session."
                },
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The number of the first line to return. Default: 1."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_LINES,
                    "description": "How many lines to return at most. Default: 2000."
                }
            },
            "required": ["file_path"],
            "additionalProperties": false
        }),
        &["file_path"],
    )
}

pub(crate) async fn run(order: Order, context: &ToolContext) -> ToolResult {
    let place = context.clone();
    run_blocking(Stop::within(LIMIT, context), move |stop| {
        let reach = Reach::new(&place);
        let opened = reach
            .locate(&order.file_path)
            .and_then(|real| Ok((reach.open(&real)?, reach.shown(&real))));
        match opened {
            Ok((file, shown)) => excerpt(file, &shown, &order, stop),
            Err(refusal) => ToolResult::error(refusal.to_string()),
        }
    })
    .await
}

fn excerpt(file: File, shown: &str, order: &Order, stop: &Stop) -> ToolResult {
    let size = file.metadata().map_or(0, |data| data.len());
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let failed = |error: io::Error| ToolResult::error(format!("`{shown}` cannot be read: {error}"));
    match reader.fill_buf() {
        Ok([]) => return ToolResult::Completed(Output::text(format!("(`{shown}` is empty)"))),
        Ok(beginning) => {
            if let Some(refusal) = binary(&beginning[..beginning.len().min(SNIFFED_BYTES)]) {
                return ToolResult::error(format!("`{shown}` ({size} bytes) {refusal}"));
            }
        }
        Err(error) => return failed(error),
    }
    let mut lines = Lines {
        reader,
        stop,
        scanned: 0,
    };
    let first = order.offset.unwrap_or(1).max(1);
    let limit = order.limit.unwrap_or(MAX_LINES).clamp(1, MAX_LINES);
    let mut excerpt = Excerpt::new(first);
    match excerpt.fill(&mut lines, limit) {
        Ok(end) => excerpt.answer(shown, end),
        Err(Halt::Io(error)) => failed(error),
        Err(Halt::Stopped(reason)) => {
            let halted = excerpt.answer(shown, End::More);
            match halted {
                ToolResult::Completed(output)
                | ToolResult::Cancelled(output)
                | ToolResult::TimedOut(output) => reason.result(output),
            }
        }
        Err(Halt::TooFar) => excerpt.answer(shown, End::TooFar),
    }
}

/// Returns why these bytes are not the beginning of a text that can be shown.
fn binary(beginning: &[u8]) -> Option<&'static str> {
    if beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]) {
        return Some("is UTF-16 text; convert it with bash: `iconv -f UTF-16 -t UTF-8`");
    }
    beginning.contains(&0).then_some(
        "is a binary file and is not shown; look at it with bash, for instance `file` or `xxd`",
    )
}

/// Why reading lines ended before the end.
#[derive(Debug)]
enum Halt {
    Io(io::Error),
    Stopped(StopReason),
    TooFar,
}

/// Where an excerpt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    File,
    More,
    TooFar,
}

/// The lines of a file, read in bounded memory whatever their length.
struct Lines<'a, R> {
    reader: R,
    stop: &'a Stop,
    scanned: u64,
}

impl<R: BufRead> Lines<'_, R> {
    fn at_end(&mut self) -> Result<bool, Halt> {
        self.reader
            .fill_buf()
            .map(<[u8]>::is_empty)
            .map_err(Halt::Io)
    }

    /// Reads the next line and keeps the first `keep` bytes of it, without its end.
    /// Returns nothing at the end of the file.
    fn next(&mut self, keep: usize) -> Result<Option<Vec<u8>>, Halt> {
        let mut line = Vec::new();
        let mut began = false;
        loop {
            if let Some(reason) = self.stop.reason() {
                return Err(Halt::Stopped(reason));
            }
            if self.scanned >= MAX_SCANNED_BYTES {
                return began.then_some(Some(line)).ok_or(Halt::TooFar);
            }
            let chunk = match self.reader.fill_buf() {
                Ok([]) => return Ok(began.then_some(line)),
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Halt::Io(error)),
            };
            began = true;
            let mut rest = chunk;
            let used = rest.skip_until(b'\n').map_err(Halt::Io)?;
            let (part, ended) = match chunk[..used].strip_suffix(b"\n") {
                Some(part) => (part, true),
                None => (&chunk[..used], false),
            };
            line.extend_from_slice(&part[..part.len().min(keep - line.len())]);
            self.reader.consume(used);
            self.scanned += used as u64;
            if ended {
                return Ok(Some(line));
            }
        }
    }
}

/// The lines that are returned, and what has to be said about them.
struct Excerpt {
    text: String,
    first: u64,
    /// The number of the line after the last one that was read.
    next: u64,
    lines: usize,
    cut_lines: usize,
    lossy: bool,
    crlf: bool,
}

impl Excerpt {
    fn new(first: u64) -> Self {
        Self {
            text: String::new(),
            first,
            next: 1,
            lines: 0,
            cut_lines: 0,
            lossy: false,
            crlf: false,
        }
    }

    fn fill(&mut self, lines: &mut Lines<'_, impl BufRead>, limit: usize) -> Result<End, Halt> {
        while self.next < self.first {
            if lines.next(0)?.is_none() {
                return Ok(End::File);
            }
            self.next += 1;
        }
        while self.lines < limit {
            let Some(bytes) = lines.next(KEPT_LINE_BYTES)? else {
                return Ok(End::File);
            };
            if !self.push(bytes) {
                return Ok(End::More);
            }
            self.next += 1;
        }
        if lines.at_end()? {
            Ok(End::File)
        } else {
            Ok(End::More)
        }
    }

    /// Adds a line, unless the excerpt would become too long.
    fn push(&mut self, mut bytes: Vec<u8>) -> bool {
        let crlf = bytes.len() < KEPT_LINE_BYTES && bytes.last() == Some(&b'\r');
        if crlf {
            bytes.pop();
        }
        let lossy = match std::str::from_utf8(&bytes) {
            Ok(_) => false,
            // A character at the end that was cut in two by the limit is not an error.
            Err(error) => error.error_len().is_some() || bytes.len() < KEPT_LINE_BYTES,
        };
        let decoded = String::from_utf8_lossy(&bytes);
        let kept = decoded
            .char_indices()
            .nth(MAX_LINE_CHARS)
            .map_or(&*decoded, |(end, _)| &decoded[..end]);
        let numbered = format!("{:>6}\t{kept}\n", self.next);
        if self.text.len() + numbered.len() > MAX_EXCERPT_BYTES {
            return false;
        }
        self.text.push_str(&numbered);
        self.lines += 1;
        self.cut_lines += usize::from(kept.len() < decoded.len());
        self.lossy |= lossy;
        self.crlf |= crlf;
        true
    }

    fn answer(&self, shown: &str, end: End) -> ToolResult {
        if self.lines == 0 {
            return ToolResult::error(match end {
                End::File => format!(
                    "`{shown}` has {} lines, so there is no line {}",
                    self.next - 1,
                    self.first
                ),
                End::More => format!("stopped before line {} of `{shown}`", self.first),
                End::TooFar => format!(
                    "line {} of `{shown}` is further in than the {} MiB that read looks through; \
                     use bash, for instance `tail -n +{0} FILE | head`",
                    self.first,
                    MAX_SCANNED_BYTES / (1024 * 1024),
                ),
            });
        }
        let mut text = self.text.clone();
        for note in self.notes(end) {
            text.push_str(&format!("[{note}]\n"));
        }
        ToolResult::Completed(Output {
            text,
            structured: Some(json!({
                "file_path": shown,
                "first_line": self.first,
                "lines": self.lines,
                "truncated": end != End::File || self.cut_lines > 0,
            })),
            is_error: false,
        })
    }

    fn notes(&self, end: End) -> Vec<String> {
        let mut notes = Vec::new();
        match end {
            End::File => {}
            End::More => notes.push(format!(
                "more lines follow; go on with offset {}",
                self.next
            )),
            End::TooFar => notes.push("the file is too long to read on; use bash".into()),
        }
        if self.cut_lines > 0 {
            notes.push(format!(
                "lines cut after {MAX_LINE_CHARS} characters: {}",
                self.cut_lines
            ));
        }
        if self.lossy {
            notes.push("some bytes are not UTF-8 and are shown as \u{fffd}".into());
        }
        if self.crlf {
            notes.push("lines end with CRLF".into());
        }
        notes
    }
}
