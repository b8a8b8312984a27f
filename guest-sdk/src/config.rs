//! A row's settings, read so that what is wrong can be pointed at.

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// The settings of a plugin that has none.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// One thing that is wrong with a row's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// A JSON pointer (RFC 6901) to the offending value; empty for the whole.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// Reads settings, the text of one JSON object.
///
/// # Errors
///
/// Says what is wrong and where, for the first thing that is.
pub fn read_config<C: DeserializeOwned>(settings: &str) -> Result<C, ConfigError> {
    let whole = |message: String| ConfigError {
        pointer: String::new(),
        message,
    };
    let value: Value =
        serde_json::from_str(settings).map_err(|error| whole(format!("no JSON: {error}")))?;
    if !value.is_object() {
        return Err(whole("settings are not an object".to_owned()));
    }
    serde_path_to_error::deserialize(value).map_err(|error| ConfigError {
        pointer: pointer(error.path()),
        message: error.inner().to_string(),
    })
}

fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        let token = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.clone(),
            Segment::Enum { variant } => variant.clone(),
            // Nothing more precise is known; what was found so far still helps.
            Segment::Unknown => break,
        };
        pointer.push('/');
        pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::{NoConfig, read_config};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only reading it is tested")]
    struct Config {
        #[serde(default)]
        names: Vec<String>,
        #[serde(default)]
        by_name: BTreeMap<String, u32>,
        #[serde(default)]
        how: Option<How>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only reading it is tested")]
    enum How {
        Slow { seconds: u32 },
        Fast,
    }

    #[test]
    fn points_at_what_is_wrong() {
        let table = [
            (
                r#"{"names": ["a", 1]}"#,
                "/names/1",
                "invalid type: integer `1`, expected a string",
            ),
            (
                r#"{"by_name": {"a/b~c": "x"}}"#,
                "/by_name/a~1b~0c",
                "invalid type: string \"x\", expected u32",
            ),
            (
                r#"{"nam": []}"#,
                "/nam",
                "unknown field `nam`, expected one of `names`, `by_name`, `how`",
            ),
            (
                r#"{"how": {"slow": {"seconds": -1}}}"#,
                "/how/slow/seconds",
                "invalid value: integer `-1`, expected u32",
            ),
            (
                r#"{"how": "quick"}"#,
                "/how",
                "unknown variant `quick`, expected `slow` or `fast`",
            ),
            ("[]", "", "settings are not an object"),
            (
                "{",
                "",
                "no JSON: EOF while parsing an object at line 1 column 1",
            ),
        ];
        for (settings, pointer, message) in table {
            let error = read_config::<Config>(settings).expect_err(settings);
            assert_eq!((&*error.pointer, &*error.message), (pointer, message));
        }
    }

    #[test]
    fn accepts_what_is_right() {
        read_config::<Config>(r#"{"names": ["a"], "how": "fast"}"#).expect("it is right");
        read_config::<NoConfig>("{}").expect("it is right");
    }

    #[test]
    fn refuses_settings_where_there_are_none() {
        let error = read_config::<NoConfig>(r#"{"a": 1}"#).expect_err("nothing is known");
        assert_eq!(error.pointer, "/a");
    }
}
