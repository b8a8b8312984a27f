//! Says who the agent is, in the prompt of every session that its row covers.

use damper_guest::{Persona, Section, Session, export_persona};
use schemars::JsonSchema;
use serde::Deserialize;

/// The `config` of the plugin's row. Its doc comments reach the people who write profiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The language that the agent answers in.
    #[serde(default = "default_language")]
    language: String,
}

fn default_language() -> String {
    "English".to_owned()
}

pub struct {{Type}} {
    config: Config,
}

impl Persona for {{Type}} {
    const ID: &'static str = "{{id}}";
    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    /// The same session gets the same text: prompts are cached by their beginning.
    fn sections(&self, _session: &Session) -> Vec<Section> {
        // `persona` is what modes call their own word on it, and this takes its place. A new id
        // would add to the end, and an empty text would remove the section.
        vec![Section::new("persona", persona(&self.config.language))]
    }
}

fn persona(language: &str) -> String {
    format!("You are a careful colleague. You answer in {language}, briefly.")
}

export_persona!({{Type}});

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(config: &str) -> Vec<Section> {
        let config = serde_json::from_str(config).expect("a config");
        {{Type}}::new(config).sections(&Session::new())
    }

    #[test]
    fn speaks_the_language_of_its_row() {
        let expected = Section::new("persona", persona("Dutch"));
        assert_eq!(sections(r#"{"language": "Dutch"}"#), [expected]);
    }

    #[test]
    fn replaces_the_persona_of_the_mode() {
        let sections = sections("{}");
        assert_eq!(sections[0].id, "persona");
        assert!(sections[0].text.contains("in English"));
    }
}
