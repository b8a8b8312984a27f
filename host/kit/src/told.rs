//! A manifest in the words of people: what it asks for, and what a row may set.

use damper_wasm::Manifest;
use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the hooks that a manifest names.
pub fn hooks(manifest: &Manifest) -> Vec<String> {
    manifest
        .hooks
        .iter()
        .filter_map(|hook| serde_json::to_value(hook).ok()?.as_str().map(str::to_owned))
        .collect()
}

/// Returns what a manifest asks to be granted, an entry each: `files.metadata: workspace`.
pub fn asked_grants(manifest: &Manifest) -> Vec<String> {
    asked(&manifest.grants)
}

/// Returns the limits that a manifest asks for, an entry each: `guest_time_ms: 500`.
pub fn asked_limits(manifest: &Manifest) -> Vec<String> {
    asked(&manifest.limits)
}

fn asked<T: Serialize>(value: &T) -> Vec<String> {
    let mut lines = Vec::new();
    if let Ok(value) = serde_json::to_value(value) {
        flatten("", &value, &mut lines);
    }
    lines
}

/// What is absent, empty or false is not asked for.
fn flatten(key: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => lines.push(key.to_owned()),
        Value::Object(object) => {
            for (inner, value) in object {
                let key = if key.is_empty() {
                    inner.clone()
                } else {
                    format!("{key}.{inner}")
                };
                flatten(&key, value, lines);
            }
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            lines.push(format!("{key}: {}", items.join(", ")));
        }
        Value::Number(_) | Value::String(_) => lines.push(format!("{key}: {}", plain(value))),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A key of a row's `config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// What it may hold.
    pub holds: String,
    /// What it is if the row says nothing; none if it must be said.
    pub default: Option<String>,
    /// What it means.
    pub meaning: String,
}

/// Returns the keys of a row's `config` that a manifest's schema declares.
pub fn settings(manifest: &Manifest) -> Vec<Setting> {
    let schema = &manifest.config_schema;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    properties
        .iter()
        .map(|(key, property)| {
            let unsaid = || (!required.contains(&key.as_str())).then(|| "unset".to_owned());
            let meaning = property.get("description").and_then(Value::as_str);
            Setting {
                key: key.clone(),
                holds: holds(property, schema),
                default: property
                    .get("default")
                    .map(ToString::to_string)
                    .or_else(unsaid),
                meaning: meaning.unwrap_or_default().to_owned(),
            }
        })
        .collect()
}

/// Returns what a schema allows, in a few words.
fn holds(schema: &Value, root: &Map<String, Value>) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        let defined = root.get("$defs").and_then(|all| all.get(name));
        // One level: a definition that leads to itself would never end.
        return match defined {
            Some(defined) if defined.get("$ref").is_none() => shallow(defined, name),
            _ => name.to_owned(),
        };
    }
    if let Some(items) = schema.get("items") {
        return format!("list of {}", shallow(items, "values"));
    }
    shallow(schema, "anything")
}

fn shallow(schema: &Value, otherwise: &str) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(plain).collect();
        return choices.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<String> = kinds.iter().map(plain).collect();
            kinds.join(" | ")
        }
        _ => match schema.get("$ref").and_then(Value::as_str) {
            Some(name) => name.rsplit('/').next().unwrap_or(name).to_owned(),
            None => otherwise.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{asked, settings};

    #[test]
    fn what_is_absent_is_not_asked_for() {
        let asking = json!({
            "files": {"metadata": ["workspace", "/srv"], "read": []},
            "clock": true, "random": false, "memory_bytes": 5, "log_bytes": null,
        });
        assert_eq!(
            asked(&asking),
            [
                "files.metadata: workspace, /srv",
                "clock",
                "memory_bytes: 5"
            ]
        );
    }

    #[test]
    fn a_schema_becomes_a_table() {
        let manifest = serde_json::from_value(json!({
            "id": "a/b", "version": "1.0.0", "description": "d", "api": "1.0.0",
            "hooks": ["guard"],
            "config_schema": {
                "properties": {
                    "words": {"type": "array", "items": {"type": "string"}, "default": ["x"],
                              "description": "The words."},
                    "how": {"$ref": "#/$defs/How"},
                    "why": {"type": ["string", "null"]},
                },
                "required": ["how"],
                "$defs": {"How": {"type": "string", "enum": ["ask", "deny"]}},
            },
        }))
        .unwrap();
        let told: Vec<(String, String, Option<String>)> = settings(&manifest)
            .into_iter()
            .map(|setting| (setting.key, setting.holds, setting.default))
            .collect();
        let row = |key: &str, holds: &str, default: Option<&str>| {
            (key.to_owned(), holds.to_owned(), default.map(str::to_owned))
        };
        assert_eq!(
            told,
            [
                row("words", "list of string", Some(r#"["x"]"#)),
                row("how", "ask | deny", None),
                row("why", "string | null", Some("unset")),
            ]
        );
    }
}
