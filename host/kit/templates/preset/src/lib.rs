//! A mode that reads and answers, and changes nothing.

use damper_guest::{CannotRun, Composition, Description, Preset, Session, export_preset};
use schemars::JsonSchema;
use serde::Deserialize;

/// The `config` of the plugin's row. Its doc comments reach the people who write profiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The tools that sessions of this mode have.
    #[serde(default = "default_tools")]
    tools: Vec<String>,
}

fn default_tools() -> Vec<String> {
    ["read", "grep", "glob"].map(str::to_owned).into()
}

/// Who the agent is in this mode: the section of its prompt that personas may replace.
const PERSONA: &str = "You read code and answer questions about it. You change nothing.";

pub struct {{Type}} {
    config: Config,
}

impl Preset for {{Type}} {
    const ID: &'static str = "{{id}}";
    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    /// What people choose the mode by. Modes are listed by `order`, low numbers first.
    fn describe(&self) -> Description {
        Description {
            name: "{{name}}".to_owned(),
            description: "Reads and answers, changes nothing.".to_owned(),
            order: 100,
        }
    }

    /// Asked once, when a session is bound to the mode.
    fn compose(&self, _session: &Session) -> Result<Composition, CannotRun> {
        // `solo` works alone; `only` names every tool it has, so that one which is added to the
        // profile later is not in this mode by accident.
        Ok(Composition::solo()
            .only(self.config.tools.clone())
            .section("persona", PERSONA))
    }
}

export_preset!({{Type}});

#[cfg(test)]
mod tests {
    use super::*;

    fn preset(config: &str) -> {{Type}} {
        {{Type}}::new(serde_json::from_str(config).expect("a config"))
    }

    #[test]
    fn has_the_tools_of_its_row() {
        let composed = preset(r#"{"tools": ["read"]}"#).compose(&Session::new());
        let expected = Composition::solo()
            .only(["read"])
            .section("persona", PERSONA);
        assert_eq!(composed, Ok(expected));
    }

    #[test]
    fn tells_people_what_it_is() {
        assert_eq!(preset("{}").describe().name, "{{name}}");
    }
}
