//! Asks a person before a command says one of certain words.

use damper_guest::{Call, Guard, Objection, Verdict, export_guard};
use schemars::JsonSchema;
use serde::Deserialize;

/// The `config` of the plugin's row. Its doc comments reach the people who write profiles.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The words that need a person.
    #[serde(default = "default_words")]
    words: Vec<String>,
}

fn default_words() -> Vec<String> {
    vec!["--force".to_owned()]
}

pub struct {{Type}} {
    config: Config,
}

impl Guard for {{Type}} {
    const ID: &'static str = "{{id}}";
    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    /// Each call is judged by a fresh instance: nothing is remembered from the one before.
    fn check(&self, call: &Call) -> Verdict {
        // A guard sees calls of all tools; those that run no command are not its business.
        let Some(command) = call.command() else {
            return Verdict::Allow;
        };
        let mut words = command.text.split_whitespace();
        match words.find(|word| self.config.words.iter().any(|listed| listed == word)) {
            // `Ask` lets a person decide, `Deny` nobody. The rule's name is for journals and
            // scripts and should never change; the text is for people.
            Some(word) => Verdict::Ask(Objection::new("word", format!("it says `{word}`"))),
            None => Verdict::Allow,
        }
    }
}

export_guard!({{Type}});

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(command: &str) -> Verdict {
        let config = serde_json::from_str("{}").expect("every key has a default");
        {{Type}}::new(config).check(&Call::new("bash").with_command(command))
    }

    #[test]
    fn asks_about_its_words() {
        let verdict = verdict("git push --force");
        assert_eq!(verdict.objection().expect("it asks").rules, ["word"]);
    }

    #[test]
    fn allows_the_rest() {
        assert_eq!(verdict("git push"), Verdict::Allow);
        assert_eq!(verdict("git push --force-with-lease"), Verdict::Allow);
    }
}
