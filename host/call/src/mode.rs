//! Modes: how a session is composed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What people choose a mode by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeDescription {
    /// The name people see.
    pub name: String,
    /// What the mode is for, in a sentence.
    pub description: String,
    /// Its place in lists; lower comes first.
    pub order: i32,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// What the part is; unique in a prompt.
    pub id: String,
    /// The text.
    pub text: String,
}

/// Which tools a session or a worker has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolFilter {
    /// All there are.
    All,
    /// These and no others.
    Only(BTreeSet<String>),
    /// All but these.
    AllBut(BTreeSet<String>),
}

impl ToolFilter {
    /// Returns whether a tool of this name passes.
    pub fn passes(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(tool),
            Self::AllBut(names) => !names.contains(tool),
        }
    }
}

/// What a worker knows when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextSource {
    /// Its brief.
    Fresh,
    /// Its brief and the completed turns of the session that hands it work.
    Fork,
    /// Its brief; it works by writing programs.
    Program,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The row of the provider.
    pub provider: String,
    /// The provider's name of the model.
    pub model: String,
}

/// A kind of worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerKind {
    /// Its name, which is also the name of the tool that hands work to it.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// Its tools.
    pub tools: ToolFilter,
    /// Its prompt, in order.
    pub persona: Vec<Section>,
    /// What it knows when it starts.
    pub context: ContextSource,
    /// Its model; none means that of the session that hands it work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
}

/// How a session is composed, as its preset declares it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Composition {
    /// Whether the session only plans and checks.
    pub coordinates: bool,
    /// The session's tools.
    pub tools: ToolFilter,
    /// The tools that a coordinator keeps.
    pub keep: Vec<String>,
    /// The kinds of workers it can hand work to.
    pub kinds: Vec<WorkerKind>,
    /// The session's prompt, in order.
    pub sections: Vec<Section>,
}

/// What a session was composed of when it was opened. Holds for its whole life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Composed {
    /// The mode's id.
    pub mode: String,
    /// What the preset declared.
    pub composition: Composition,
    /// The tools that the session has, as far as they still exist and are not withheld.
    pub surface: BTreeSet<String>,
    /// The prompt: the preset's sections with what personas made of them.
    pub prompt: Vec<Section>,
    /// What plugins and preflights had to say when it was opened.
    pub notices: Vec<String>,
}

/// Merges a persona's sections into a prompt: one with a known id replaces that section, an
/// empty text removes it, others are appended.
pub fn merge_sections(prompt: &mut Vec<Section>, sections: Vec<Section>) {
    for section in sections {
        match prompt.iter().position(|known| known.id == section.id) {
            Some(place) if section.text.is_empty() => {
                prompt.remove(place);
            }
            Some(place) => prompt[place] = section,
            None if section.text.is_empty() => {}
            None => prompt.push(section),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Section, merge_sections};

    #[test]
    fn a_section_replaces_removes_or_comes_last() {
        let table = [
            ("c=3", "a=1 b=2 c=3"),
            ("a=9", "a=9 b=2"),
            ("a=", "b=2"),
            ("z=", "a=1 b=2"),
            ("b=5 c=6 b=", "a=1 c=6"),
        ];
        for (change, expected) in table {
            let mut prompt = sections("a=1 b=2");
            merge_sections(&mut prompt, sections(change));
            assert_eq!(prompt, sections(expected), "{change}");
        }
    }

    fn sections(text: &str) -> Vec<Section> {
        text.split(' ')
            .filter_map(|section| section.split_once('='))
            .map(|(id, text)| Section {
                id: id.to_owned(),
                text: text.to_owned(),
            })
            .collect()
    }
}
