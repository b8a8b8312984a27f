//! Arguments against the tool's schema, with an error that tells the model what fits.

use damper_call::ToolDefinition;
use serde_json::{Map, Value};

/// The most mistakes that one answer lists.
const MAX_MISTAKES: usize = 5;

/// The checked form of a tool's input schema.
pub(crate) struct ArgumentCheck {
    validator: jsonschema::Validator,
    /// The argument names that the schema declares, in its order.
    known: Vec<String>,
}

impl std::fmt::Debug for ArgumentCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArgumentCheck")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl ArgumentCheck {
    /// Compiles the schema of a tool. Fails on what is no JSON Schema.
    pub(crate) fn new(tool: &ToolDefinition) -> Result<Self, String> {
        let schema = Value::Object(tool.input_schema.clone());
        let validator = jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&schema)
            .map_err(|error| {
                format!(
                    "the input schema of `{}` is no JSON Schema: {error}",
                    tool.name
                )
            })?;
        let known = tool
            .input_schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().cloned().collect())
            .unwrap_or_default();
        Ok(Self { validator, known })
    }

    /// Returns the check that refuses everything.
    pub(crate) fn nothing_fits() -> Self {
        let validator = jsonschema::Validator::options().build(&Value::Bool(false));
        Self {
            validator: validator.expect("`false` is a schema that is always valid"),
            known: Vec::new(),
        }
    }

    /// Returns the arguments as an object, or what is wrong with them.
    pub(crate) fn check(
        &self,
        tool: &ToolDefinition,
        arguments: &str,
    ) -> Result<Map<String, Value>, String> {
        let name = &tool.name;
        let parsed: Value = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments of `{name}` are not JSON: {error}"))?;
        let Value::Object(object) = parsed else {
            return Err(format!("the arguments of `{name}` must be one JSON object"));
        };
        if let Some(unknown) = object
            .keys()
            .find(|key| !self.known.is_empty() && !self.known.contains(key))
        {
            let known = self.known.join("`, `");
            return Err(format!(
                "`{name}` has no argument `{}`; it accepts `{known}`",
                clip(unknown)
            ));
        }
        let value = Value::Object(object);
        let mistakes: Vec<String> = self
            .validator
            .iter_errors(&value)
            .take(MAX_MISTAKES)
            .map(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() {
                    "the arguments".to_owned()
                } else {
                    format!("`{place}`")
                };
                format!("{place}: {}", clip(&error.to_string()))
            })
            .collect();
        match (mistakes.is_empty(), value) {
            (true, Value::Object(object)) => Ok(object),
            _ => Err(format!(
                "the arguments of `{name}` do not fit: {}",
                mistakes.join("; ")
            )),
        }
    }
}

/// Shortens text that repeats what a caller sent.
fn clip(text: &str) -> String {
    const MOST: usize = 300;
    if text.len() <= MOST {
        text.to_owned()
    } else {
        format!("{}...", &text[..text.floor_char_boundary(MOST)])
    }
}

#[cfg(test)]
mod tests {
    use damper_call::{EffectClass, ToolSource};
    use serde_json::json;

    use super::*;

    fn tool(schema: &Value) -> ToolDefinition {
        ToolDefinition {
            name: "t".to_owned(),
            description: String::new(),
            input_schema: schema.as_object().unwrap().clone(),
            effect: EffectClass::None,
            command: None,
            paths: Vec::new(),
            source: ToolSource::Native,
        }
    }

    #[test]
    fn tells_what_does_not_fit_and_what_would() {
        let tool = tool(&json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
            "required": ["path"],
        }));
        let check = ArgumentCheck::new(&tool).unwrap();
        let table = [
            (r#"{"path":"a"}"#, None),
            (r#"{"path":"a","limit":3}"#, None),
            ("", Some("are not JSON")),
            ("[1]", Some("must be one JSON object")),
            (
                r#"{"path":"a","paht":"b"}"#,
                Some("`t` has no argument `paht`; it accepts `path`, `limit`"),
            ),
            ("{}", Some("\"path\" is a required property")),
            (
                r#"{"path":1}"#,
                Some("`/path`: 1 is not of type \"string\""),
            ),
            (r#"{"path":"a","limit":0}"#, Some("`/limit`")),
            (r#"{"path":"a","path":1}"#, Some("`/path`")),
        ];
        for (arguments, expected) in table {
            match (check.check(&tool, arguments), expected) {
                (Ok(_), None) => {}
                (Err(message), Some(part)) => {
                    assert!(message.contains(part), "{arguments}: {message}")
                }
                (found, _) => panic!("{arguments}: {found:?}"),
            }
        }
    }

    #[test]
    fn refuses_schemas_that_are_none() {
        assert!(ArgumentCheck::new(&tool(&json!({"type": "no-such-type"}))).is_err());
        assert!(
            ArgumentCheck::new(&tool(&json!({"$ref": "http://example.invalid/s.json"}))).is_err()
        );
    }
}
