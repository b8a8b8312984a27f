//! The tool `{{crate}}`: counts the words of a text.

use damper_guest::{Call, Definition, EffectClass, Output, Tool, ToolError, export_tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// The `config` of the plugin's row. Its doc comments reach the people who write profiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The longest text that is counted, in bytes.
    #[serde(default = "default_max_bytes")]
    max_bytes: usize,
}

const fn default_max_bytes() -> usize {
    100_000
}

/// What an agent sends. The host has checked it against `input_schema` before.
#[derive(Debug, Deserialize)]
struct Arguments {
    text: String,
}

pub struct {{Type}} {
    config: Config,
}

impl Tool for {{Type}} {
    const ID: &'static str = "{{id}}";
    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    fn definitions(&self) -> Vec<Definition> {
        vec![Definition {
            name: "{{crate}}".to_owned(),
            // All that a model knows of the tool: say when to use it and what comes back.
            description: "Counts the words of a text.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "The text to count."},
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
            // `None` may be repeated at will. A tool that changes something says `Idempotent`
            // or `Once`, and then a lost call is never run again behind anybody's back.
            effect: EffectClass::None,
            command: None,
            paths: Vec::new(),
        }]
    }

    fn run(&self, call: &Call) -> Result<Output, ToolError> {
        let arguments: Arguments = serde_json::from_str(&call.arguments())
            .map_err(|error| ToolError::InvalidArguments(error.to_string()))?;
        // An error reaches the model too: tell it what would work.
        if arguments.text.len() > self.config.max_bytes {
            return Err(ToolError::InvalidArguments(format!(
                "`text` has more than {} bytes; count it in parts",
                self.config.max_bytes
            )));
        }
        let words = arguments.text.split_whitespace().count();
        Ok(Output::text(format!("{words} words")))
    }
}

export_tool!({{Type}});

#[cfg(test)]
mod tests {
    use super::*;

    fn run(config: &str, text: &str) -> Result<Output, ToolError> {
        let config = serde_json::from_str(config).expect("a config");
        let call = Call::new("{{crate}}").with_arguments(&json!({ "text": text }));
        {{Type}}::new(config).run(&call)
    }

    #[test]
    fn counts_words() {
        assert_eq!(run("{}", " one\ntwo ").expect("it counts").text, "2 words");
    }

    #[test]
    fn refuses_more_than_the_row_allows() {
        let error = run(r#"{"max_bytes": 3}"#, "four").expect_err("it is too long");
        assert!(matches!(error, ToolError::InvalidArguments(_)), "{error:?}");
    }
}
