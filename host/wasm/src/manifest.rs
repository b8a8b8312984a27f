//! The manifest: what a component says about itself, readable without running it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wasmparser::{Encoding, Parser, Payload};

use crate::{grants::Grants, limits::Limits};

/// The version of the contract in `wit/` that this host speaks.
pub const API_VERSION: &str = "1.0.0";

/// The custom section's name.
const SECTION: &str = "damper:manifest";

/// The largest manifest, in bytes. A large JSON Schema has some ten thousand.
const MAX_MANIFEST: usize = 64 * 1024;

/// Something a plugin can be asked: an interface that it exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// `guard.check`
    Guard,
    /// `catalogue.withhold`
    Catalogue,
    /// `preset.describe` and `preset.compose`
    Preset,
    /// `persona.sections`
    Persona,
    /// `tool.definitions` and `tool.run`
    Tool,
    /// `message.before-send`
    Message,
    /// `approval.route`
    Approval,
    /// `result.review`
    Result,
    /// `session.opened`
    Session,
}

impl Hook {
    /// All hooks, in the order of the table in the documentation.
    pub const ALL: [Self; 9] = [
        Self::Guard,
        Self::Catalogue,
        Self::Preset,
        Self::Persona,
        Self::Tool,
        Self::Message,
        Self::Approval,
        Self::Result,
        Self::Session,
    ];

    /// Returns the name of the interface in `wit/`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Guard => "guard",
            Self::Catalogue => "catalogue",
            Self::Preset => "preset",
            Self::Persona => "persona",
            Self::Tool => "tool",
            Self::Message => "message",
            Self::Approval => "approval",
            Self::Result => "result",
            Self::Session => "session",
        }
    }
}

/// What a plugin says about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// `owner/name`.
    pub id: String,
    /// The plugin's own version.
    pub version: String,
    /// What it does, in a sentence.
    pub description: String,
    /// The version of the contract it was built for.
    pub api: String,
    /// What it can be asked.
    pub hooks: Vec<Hook>,
    /// What it asks to be granted.
    #[serde(default)]
    pub grants: Grants,
    /// The limits it asks for; not more than the host's ceilings.
    #[serde(default)]
    pub limits: AskedLimits,
    /// The JSON Schema of its settings.
    #[serde(default)]
    pub config_schema: Map<String, Value>,
    /// Texts by rule and language, for catalogues.
    #[serde(default)]
    pub texts: Map<String, Value>,
}

/// The limits that a plugin asks for. None leaves the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedLimits {
    /// Bytes of linear memory.
    pub memory_bytes: Option<u64>,
    /// Time in guest code, in milliseconds.
    pub guest_time_ms: Option<u64>,
    /// Time to the answer, in milliseconds.
    pub wall_time_ms: Option<u64>,
    /// Bytes of the answer.
    pub answer_bytes: Option<u64>,
    /// Bytes of the log of one call.
    pub log_bytes: Option<u64>,
    /// Calls to the host.
    pub host_calls: Option<u64>,
    /// Bytes that are kept for a session.
    pub state_bytes: Option<u64>,
}

/// The most that a manifest can ask for itself; a row may give more.
const MOST: Limits = Limits {
    memory: 256 << 20,
    guest_time: Duration::from_secs(60),
    wall_time: Duration::from_secs(120),
    answer: 1 << 20,
    log: 1 << 20,
    host_calls: 100_000,
    arguments: 1 << 20,
    state: 16 << 20,
};

impl AskedLimits {
    /// Returns the limits that count where a row says nothing: what is asked for, within
    /// bounds, else the defaults.
    pub fn bounded(&self, defaults: &Limits) -> Limits {
        let millis = |asked: Option<u64>| asked.map(Duration::from_millis);
        Limits {
            memory: pick(self.memory_bytes, MOST.memory, defaults.memory),
            guest_time: pick(
                millis(self.guest_time_ms),
                MOST.guest_time,
                defaults.guest_time,
            ),
            wall_time: pick(
                millis(self.wall_time_ms),
                MOST.wall_time,
                defaults.wall_time,
            ),
            answer: pick(self.answer_bytes, MOST.answer, defaults.answer),
            log: pick(self.log_bytes, MOST.log, defaults.log),
            host_calls: pick(self.host_calls, MOST.host_calls, defaults.host_calls),
            arguments: defaults.arguments,
            state: pick(self.state_bytes, MOST.state, defaults.state),
        }
    }
}

fn pick<T: Ord>(asked: Option<T>, most: T, default: T) -> T {
    asked.map_or(default, |asked| asked.min(most))
}

/// Why a file has no usable manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not WebAssembly at all.
    #[error("is not a WebAssembly file: {0}")]
    NotWasm(String),
    /// A core module.
    #[error("is a core module, not a component; `damper plugin build` makes components")]
    CoreModule,
    /// Broken off or damaged.
    #[error("is damaged at byte {offset}: {why}")]
    Damaged {
        /// Where reading stopped.
        offset: u64,
        /// What was wrong there.
        why: String,
    },
    /// No manifest, as in a file that is cut between two sections.
    #[error("has no manifest: it is unfinished, or was not made by `damper plugin build`")]
    Missing,
    /// Two manifests.
    #[error("has two manifests, so that it cannot be told which one counts")]
    Ambiguous,
    /// Something comes after the manifest.
    #[error("has content after its manifest, which must be the last section")]
    NotLast,
    /// The manifest does not read.
    #[error("has a manifest that does not read: {0}")]
    Malformed(String),
    /// Built for another major version of the contract.
    #[error("was built for version {0} of the plugin contract; this host speaks {API_VERSION}")]
    Api(String),
}

/// Returns the manifest of a component. Runs no code and compiles nothing.
pub fn read_manifest(component: &[u8]) -> Result<Manifest, ManifestError> {
    let text = manifest_text(component)?;
    parse(text)
}

/// Parses and checks the text of a manifest.
pub(crate) fn parse(text: &[u8]) -> Result<Manifest, ManifestError> {
    if text.len() > MAX_MANIFEST {
        return Err(ManifestError::Malformed(format!(
            "it is longer than {MAX_MANIFEST} bytes"
        )));
    }
    let manifest: Manifest = serde_json::from_slice(text)
        .map_err(|error| ManifestError::Malformed(error.to_string()))?;
    check(&manifest)?;
    Ok(manifest)
}

fn check(manifest: &Manifest) -> Result<(), ManifestError> {
    let part_is_fine = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let id_is_fine = manifest.id.len() <= 64
        && manifest
            .id
            .split_once('/')
            .is_some_and(|(o, n)| part_is_fine(o) && part_is_fine(n));
    if !id_is_fine {
        return Err(ManifestError::Malformed(
            "`id` must be `owner/name` of lower-case letters, digits and `-`, at most 64 bytes"
                .to_owned(),
        ));
    }
    if manifest.hooks.is_empty() {
        return Err(ManifestError::Malformed("`hooks` is empty".to_owned()));
    }
    match manifest.api.split('.').next() {
        Some("1") => Ok(()),
        _ => Err(ManifestError::Api(manifest.api.clone())),
    }
}

/// Appends a manifest as the component's last section.
pub fn append_manifest(component: &[u8], manifest: &[u8]) -> Result<Vec<u8>, ManifestError> {
    parse(manifest)?;
    match manifest_text(component) {
        Err(ManifestError::Missing) => {}
        Ok(_) => return Err(ManifestError::Ambiguous),
        Err(error) => return Err(error),
    }
    let mut with_manifest = component.to_vec();
    with_manifest.push(0); // the id of a custom section
    let mut body = Vec::with_capacity(manifest.len() + SECTION.len() + 5);
    push_leb128(&mut body, SECTION.len());
    body.extend_from_slice(SECTION.as_bytes());
    body.extend_from_slice(manifest);
    push_leb128(&mut with_manifest, body.len());
    with_manifest.extend_from_slice(&body);
    Ok(with_manifest)
}

fn push_leb128(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn manifest_text(component: &[u8]) -> Result<&[u8], ManifestError> {
    if !component.starts_with(b"\0asm") {
        let start: String =
            String::from_utf8_lossy(&component[..component.len().min(16)]).into_owned();
        return Err(ManifestError::NotWasm(format!(
            "it is {} bytes and begins {start:?}",
            component.len()
        )));
    }
    let mut found: Option<&[u8]> = None;
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| ManifestError::Damaged {
            offset: error.offset() as u64,
            why: error.message().to_owned(),
        })?;
        if depth == 0 {
            found = at_top_level(&payload, found)?;
        }
        if matches!(
            payload,
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. }
        ) {
            depth += 1;
        }
        if matches!(payload, Payload::End(_)) {
            depth = depth.saturating_sub(1);
        }
    }
    found.ok_or(ManifestError::Missing)
}

/// Looks at one part of the component itself, not of what is nested in it. Returns the
/// manifest, if it has been seen by now.
fn at_top_level<'a>(
    payload: &Payload<'a>,
    found: Option<&'a [u8]>,
) -> Result<Option<&'a [u8]>, ManifestError> {
    if let Payload::Version { encoding, .. } = payload {
        return match encoding {
            Encoding::Module => Err(ManifestError::CoreModule),
            Encoding::Component => Ok(None),
        };
    }
    if let Payload::CustomSection(section) = payload
        && section.name() == SECTION
    {
        return match found {
            Some(_) => Err(ManifestError::Ambiguous),
            None => Ok(Some(section.data())),
        };
    }
    if found.is_some() && !matches!(payload, Payload::End(_)) {
        return Err(ManifestError::NotLast);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
    const MODULE: &[u8] = b"\0asm\x01\0\0\0";

    fn manifest() -> Vec<u8> {
        br#"{"id":"a/b","version":"0.1.0","description":"d","api":"1.0.0","hooks":["guard"]}"#
            .to_vec()
    }

    #[test]
    fn a_plugin_gets_what_it_asks_for_within_bounds_else_the_default() {
        let table = [
            (None, Limits::HOOK.memory),
            (Some(1), 1),
            (Some(MOST.memory), MOST.memory),
            (Some(u64::MAX), MOST.memory),
        ];
        for (memory_bytes, expected) in table {
            let asked = AskedLimits {
                memory_bytes,
                ..AskedLimits::default()
            };
            let bounded = asked.bounded(&Limits::HOOK);
            assert_eq!(bounded.memory, expected, "{memory_bytes:?}");
            assert_eq!(bounded.guest_time, Limits::HOOK.guest_time);
        }
    }

    #[test]
    fn reads_back_what_was_appended() {
        let component = append_manifest(EMPTY, &manifest()).unwrap();
        assert_eq!(read_manifest(&component).unwrap().id, "a/b");
    }

    #[test]
    fn refuses_files_without_one_sound_manifest() {
        let good = append_manifest(EMPTY, &manifest()).unwrap();
        let mut twice = good.clone();
        twice.extend_from_slice(&good[EMPTY.len()..]);
        let mut trailing = good.clone();
        trailing.extend_from_slice(&[0, 2, 1, b'x']);
        let table: [(&[u8], &str); 8] = [
            (b"", "is not a WebAssembly file"),
            (b"<html>", "is not a WebAssembly file"),
            (MODULE, "is a core module"),
            (EMPTY, "has no manifest"),
            (&good[..good.len() - 1], "is damaged at byte"),
            (&twice, "has two manifests"),
            (&trailing, "has content after its manifest"),
            (b"\0asm\xff\xff\xff\xff", "is damaged at byte"),
        ];
        for (bytes, expected) in table {
            let message = read_manifest(bytes).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn refuses_manifests_that_it_cannot_honour() {
        let table = [
            (r#"{"id":"ab"}"#, "does not read"),
            (
                r#"{"id":"A/b","version":"1","description":"","api":"1.0.0","hooks":["guard"]}"#,
                "`id` must be",
            ),
            (
                r#"{"id":"a/b","version":"1","description":"","api":"2.0.0","hooks":["guard"]}"#,
                "version 2.0.0",
            ),
            (
                r#"{"id":"a/b","version":"1","description":"","api":"1.0.0","hooks":[]}"#,
                "`hooks` is empty",
            ),
            (
                r#"{"id":"a/b","version":"1","description":"","api":"1.0.0","hooks":["spell"]}"#,
                "unknown variant",
            ),
            (
                r#"{"id":"a/b","version":"1","description":"","api":"1.0.0","hooks":["guard"],"grant":{}}"#,
                "unknown field",
            ),
        ];
        for (text, expected) in table {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
