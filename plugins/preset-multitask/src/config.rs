//! The row's settings.

use damper_guest::{JsonSchema, ModelChoice};
use serde::Deserialize;

/// The settings of the row.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The models of kinds of workers. A kind that is not listed has the coordinator's model.
    /// An entry of an unknown kind or with an empty text is none.
    pub subagent_models: Vec<SubagentModel>,
    /// Whether there are the kinds `subagent_ptc` and `subagent_minimal`.
    pub multi_mode: bool,
}

/// The model of a kind of worker.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(crate = "damper_guest::schemars")]
#[serde(deny_unknown_fields, default)]
pub struct SubagentModel {
    /// The kind.
    pub subagent_type: String,
    /// The row of the provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            subagent_models: Vec::new(),
            multi_mode: true,
        }
    }
}

impl Config {
    /// Returns the model that is set for a kind, the last one where there are several.
    pub(crate) fn model(&self, kind: &str) -> Option<ModelChoice> {
        let is_whole = |entry: &&SubagentModel| {
            let texts = [&entry.provider, &entry.model];
            entry.subagent_type == kind && texts.iter().all(|text| !text.trim().is_empty())
        };
        let entry = self.subagent_models.iter().rfind(is_whole)?;
        Some(ModelChoice {
            provider: entry.provider.clone(),
            model: entry.model.clone(),
        })
    }
}
