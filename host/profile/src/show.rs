//! A composition as YAML, with the line that set each key behind it.
//!
//! What is shown is itself a profile: read again, it gives the same rows.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::{
    compose::Composition,
    position::Position,
    row::{Coverage, Folder, Grants, Limits, OnFailure, Row, RowKind, Tools, pointer_to},
    scalar::{Scalar, Style, Typed},
    tree::is_printable,
    units::{format_size, format_time},
};

impl Composition {
    /// Returns the composition as a profile in YAML, each key with `# file:line`.
    pub fn show(&self) -> String {
        let mut page = Page::default();
        page.line(
            0,
            &format!("name: {}", flow_text(&self.name.value)),
            &self.name.position,
        );
        if let Some(description) = &self.description {
            let line = format!("description: {}", flow_text(&description.value));
            page.line(0, &line, &description.position);
        }
        if let Some(notify) = &self.notify {
            let line = format!("notify: {}", flow_texts(&notify.value));
            page.line(0, &line, &notify.position);
        }
        page.text.push_str(if self.rows.is_empty() {
            "rows: []\n"
        } else {
            "rows:\n"
        });
        for row in &self.rows {
            page.row(row);
        }
        page.rejections(self);
        page.text
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, indent: usize, content: &str, position: &Position) {
        let file = one_line(&position.file);
        let line = position.line;
        self.push(&format!("{:indent$}{content}  # {file}:{line}\n", ""));
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn row(&mut self, row: &Row) {
        let id = format!("- id: {}", flow_text(row.id.as_str()));
        self.line(2, &id, row.origins.nearest("/id"));
        match &row.kind {
            RowKind::Plugin(plugin) => self.key(row, "plugin", &flow_text(&plugin.to_string())),
            RowKind::Tools(Tools::Set(name)) => self.key(row, "tools", &flow_text(name)),
            RowKind::Tools(Tools::Names(names)) => self.key(row, "tools", &flow_texts(names)),
        }
        if let Some(digest) = &row.digest {
            self.key(row, "digest", &flow_text(&digest.to_string()));
        }
        if row.disabled || row.origins.get("/disabled").is_some() {
            self.key(row, "disabled", &row.disabled.to_string());
        }
        if row.on_failure != OnFailure::Ask || row.origins.get("/on_failure").is_some() {
            self.key(row, "on_failure", row.on_failure.as_str());
        }
        if row.covers != Coverage::default() {
            self.key(row, "for", &coverage(&row.covers));
        }
        if row.grants != Grants::default() {
            self.key(row, "grants", &grants(&row.grants));
        }
        self.limits(row);
        if !row.config.is_empty() {
            self.line(4, "config:", row.origins.nearest("/config"));
            self.config(row, &row.config, "/config", 6);
        }
    }

    fn key(&mut self, row: &Row, name: &str, value: &str) {
        let position = row.origins.nearest(&format!("/{name}"));
        self.line(4, &format!("{name}: {value}"), position);
    }

    fn limits(&mut self, row: &Row) {
        if row.limits == Limits::default() {
            return;
        }
        self.line(4, "limits:", row.origins.nearest("/limits"));
        for (name, value) in limit_texts(&row.limits) {
            if let Some(value) = value {
                let position = row.origins.nearest(&format!("/limits/{name}"));
                self.line(6, &format!("{name}: {value}"), position);
            }
        }
    }

    fn config(&mut self, row: &Row, object: &Map<String, Value>, parent: &str, indent: usize) {
        for (name, value) in object {
            let pointer = pointer_to(parent, name);
            let position = row.origins.nearest(&pointer);
            match value {
                Value::Object(below) if !below.is_empty() => {
                    self.line(indent, &format!("{}:", flow_text(name)), position);
                    self.config(row, below, &pointer, indent + 2);
                }
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_) => {
                    let line = format!("{}: {}", flow_text(name), flow(value));
                    self.line(indent, &line, position);
                }
            }
        }
    }

    fn rejections(&mut self, composition: &Composition) {
        for layer in &composition.layers {
            if let Err(mistake) = &layer.parsed {
                let mistake = one_line(&mistake.to_string());
                self.push(&format!("# rejected whole: {mistake}\n"));
            }
        }
        for rejection in &composition.rejected {
            let rejection = one_line(&rejection.to_string());
            self.push(&format!("# rejected: {rejection}\n"));
        }
    }
}

fn limit_texts(limits: &Limits) -> [(&'static str, Option<String>); 8] {
    let Limits {
        memory,
        guest_time,
        wall_time,
        answer,
        log,
        host_calls,
        arguments,
        state,
    } = limits;
    [
        ("memory", memory.map(format_size)),
        ("guest_time", guest_time.map(format_time)),
        ("wall_time", wall_time.map(format_time)),
        ("answer", answer.map(format_size)),
        ("log", log.map(format_size)),
        ("host_calls", host_calls.map(|count| count.to_string())),
        ("arguments", arguments.map(format_size)),
        ("state", state.map(format_size)),
    ]
}

fn grants(grants: &Grants) -> String {
    let folders = |name: &str, folders: &[Folder]| {
        let texts: Vec<String> = folders.iter().map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| format!("{name}: {}", flow_texts(&texts)))
    };
    let files = [
        folders("metadata", &grants.files_metadata),
        folders("read", &grants.files_read),
    ];
    let files: Vec<String> = files.into_iter().flatten().collect();
    let http = (!grants.http.is_empty()).then(|| format!("http: {}", flow_texts(&grants.http)));
    let flags = [
        ("clock", grants.clock),
        ("random", grants.random),
        ("sessions", grants.sessions),
        ("roster", grants.roster),
    ];
    let flags = flags
        .into_iter()
        .filter(|(_name, given)| *given)
        .map(|(name, _given)| format!("{name}: true"));
    let files = (!files.is_empty()).then(|| format!("files: {{{}}}", files.join(", ")));
    let all: Vec<String> = files.into_iter().chain(http).chain(flags).collect();
    format!("{{{}}}", all.join(", "))
}

fn coverage(covers: &Coverage) -> String {
    let doors = covers.door.iter().map(|door| door.as_str().to_owned());
    let lists = [
        ("mode", covers.mode.clone()),
        ("kind", covers.kind.clone()),
        ("door", doors.collect()),
    ];
    let shown = lists
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(key, names)| format!("{key}: {}", flow_texts(names)));
    format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
}

/// Returns a value as YAML on one line.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => flow_text(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(object) => {
            let entries: Vec<String> = object
                .iter()
                .map(|(key, value)| format!("{}: {}", flow_text(key), flow(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

fn flow_texts(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| flow_text(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// Returns a text as a YAML scalar that fits anywhere, quoted only where it must be.
pub(crate) fn flow_text(text: &str) -> String {
    /// Words that older YAML readers, people's editors among them, take for truth values.
    const OLD_TRUTHS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@ ".contains(c);
    let scalar = Scalar {
        text: text.to_owned(),
        style: Style::Plain,
    };
    if starts_well
        && !text.ends_with(' ')
        && !text.starts_with("...")
        && text.chars().all(is_plain)
        && matches!(scalar.typed(), Ok(Typed::Text(_)))
        && !OLD_TRUTHS.contains(&text.to_lowercase().as_str())
    {
        return scalar.text;
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_printable(c)
                && !matches!(c, '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}') =>
            {
                quoted.push(c);
            }
            c => {
                let code = u32::from(c);
                write!(quoted, "\\U{code:08X}").expect("writing to a string does not fail");
            }
        }
    }
    quoted.push('"');
    quoted
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| {
            if is_printable(c) && !c.is_control() {
                c
            } else {
                '\u{fffd}'
            }
        })
        .collect()
}
