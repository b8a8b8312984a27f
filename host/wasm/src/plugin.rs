//! From bytes to something that can be asked: every check that needs no settings.

use std::sync::Arc;

use damper_call::Digest;
use wasmtime::{
    Engine, Store,
    component::{Component, Instance, InstancePre, Linker, types::ComponentItem},
};

use crate::{
    bindings::exports::damper::plugin::{
        approval, catalogue, configure, guard, message, persona, preset, result, session, tool,
    },
    cache::CacheError,
    compile::CompileError,
    failure::GuestFailure,
    grants::Grants,
    limits::Limits,
    manifest::{API_VERSION, Hook, Manifest, ManifestError},
    state::GuestState,
};

/// The largest component. A Python guest has 18 MB.
pub const MAX_COMPONENT: usize = 64 << 20;

/// Why a component cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It is too large.
    #[error("is {} MiB large; components have at most {} MiB", .0 >> 20, MAX_COMPONENT >> 20)]
    TooLarge(usize),
    /// It has no usable manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The code cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// It wants things that this host does not have.
    #[error("imports what this host (plugin contract {API_VERSION}) does not offer: {}", .0.join(", "))]
    Imports(Vec<String>),
    /// It lacks a hook that its manifest names.
    #[error("names the hook `{0}` in its manifest but does not export it")]
    MissingHook(&'static str),
    /// A hook or an import has other types than the contract.
    #[error("does not fit plugin contract {API_VERSION}: {0}")]
    Types(String),
    /// It cannot even be instantiated within its limits.
    #[error("cannot be instantiated: {0}")]
    Instantiate(GuestFailure),
}

/// A component that is compiled, linked and type-checked.
#[derive(Debug)]
pub struct Plugin {
    /// What it says about itself.
    pub manifest: Manifest,
    /// The digest of its bytes.
    pub digest: Digest,
    pub(crate) hooks: Hooks,
    /// Whether it imports `state`, so that what it kept must be looked up.
    pub keeps_state: bool,
}

/// Everything that is looked up by name, resolved once.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) instance: InstancePre<GuestState>,
    pub(crate) configure: Option<configure::GuestIndices>,
    pub(crate) guard: Option<guard::GuestIndices>,
    pub(crate) catalogue: Option<catalogue::GuestIndices>,
    pub(crate) preset: Option<preset::GuestIndices>,
    pub(crate) persona: Option<persona::GuestIndices>,
    pub(crate) tool: Option<tool::GuestIndices>,
    pub(crate) message: Option<message::GuestIndices>,
    pub(crate) approval: Option<approval::GuestIndices>,
    pub(crate) result: Option<result::GuestIndices>,
    pub(crate) session: Option<session::GuestIndices>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks")
            .field("configure", &self.configure.is_some())
            .field("exported", &self.exported())
            .finish_non_exhaustive()
    }
}

impl Hooks {
    fn has(&self, hook: Hook) -> bool {
        match hook {
            Hook::Guard => self.guard.is_some(),
            Hook::Catalogue => self.catalogue.is_some(),
            Hook::Preset => self.preset.is_some(),
            Hook::Persona => self.persona.is_some(),
            Hook::Tool => self.tool.is_some(),
            Hook::Message => self.message.is_some(),
            Hook::Approval => self.approval.is_some(),
            Hook::Result => self.result.is_some(),
            Hook::Session => self.session.is_some(),
        }
    }

    fn exported(&self) -> Vec<Hook> {
        let all = Hook::ALL.into_iter();
        all.filter(|hook| self.has(*hook)).collect()
    }

    /// Loads each hook from an instance, which is what checks its types.
    pub(crate) fn load_all(
        &self,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> wasmtime::Result<()> {
        macro_rules! load {
            ($($hook:ident)*) => {
                $(if let Some(indices) = &self.$hook {
                    indices.load(&mut *store, instance)?;
                })*
            };
        }
        load!(guard catalogue preset persona tool message approval result session);
        Ok(())
    }
}

/// A plugin as one row runs it.
#[derive(Debug, Clone)]
pub struct Guest {
    /// The plugin.
    pub plugin: Arc<Plugin>,
    /// The row's settings: the text of one JSON object.
    pub settings: Arc<str>,
    /// What it is granted.
    pub grants: Grants,
    /// What one call may use.
    pub limits: Limits,
}

/// Links a compiled component and finds its hooks.
pub(crate) fn link(
    engine: &Engine,
    linker: &Linker<GuestState>,
    component: &Component,
    manifest: &Manifest,
) -> Result<Hooks, LoadError> {
    let missing = missing_imports(engine, component);
    if !missing.is_empty() {
        return Err(LoadError::Imports(missing));
    }
    let instance = linker
        .instantiate_pre(component)
        .map_err(|error| LoadError::Types(format!("{error:#}")))?;
    let hooks = Hooks {
        configure: configure::GuestIndices::new(&instance).ok(),
        guard: guard::GuestIndices::new(&instance).ok(),
        catalogue: catalogue::GuestIndices::new(&instance).ok(),
        preset: preset::GuestIndices::new(&instance).ok(),
        persona: persona::GuestIndices::new(&instance).ok(),
        tool: tool::GuestIndices::new(&instance).ok(),
        message: message::GuestIndices::new(&instance).ok(),
        approval: approval::GuestIndices::new(&instance).ok(),
        result: result::GuestIndices::new(&instance).ok(),
        session: session::GuestIndices::new(&instance).ok(),
        instance,
    };
    if let Some(missing) = manifest.hooks.iter().find(|hook| !hooks.has(**hook)) {
        return Err(LoadError::MissingHook(missing.as_str()));
    }
    Ok(hooks)
}

/// Returns all imported interfaces that the host does not have, so that one look tells
/// everything. A function that an interface lacks is named when the component is linked.
fn missing_imports(engine: &Engine, component: &Component) -> Vec<String> {
    let ty = component.component_type();
    ty.imports(engine)
        .filter(|(name, item)| !matches!(item.ty, ComponentItem::Type(_)) && !is_offered(name))
        .map(|(name, _item)| name.to_owned())
        .collect()
}

/// Returns whether the linker serves an interface, as `package:name/interface@version`: by name
/// and by semver track, as wasmtime matches them.
pub fn is_offered(import: &str) -> bool {
    let Some((interface, version)) = import.split_once('@') else {
        return false;
    };
    let package = interface.split('/').next();
    let track = match package {
        Some("damper:plugin") => "1.",
        _ => "0.2.",
    };
    let is_release = version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    version.starts_with(track) && is_release && OFFERED.contains(&interface)
}

/// The interfaces that the linker is given in `imports` and `wasi`.
const OFFERED: [&str; 29] = [
    "damper:plugin/types",
    "damper:plugin/log",
    "damper:plugin/config",
    "damper:plugin/state",
    "damper:plugin/files",
    "damper:plugin/clock",
    "damper:plugin/http",
    "damper:plugin/roster",
    "damper:plugin/sessions",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
    "wasi:cli/exit",
    "wasi:cli/environment",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
];

#[cfg(test)]
mod tests {
    use super::is_offered;

    #[test]
    fn offers_releases_of_its_own_tracks_only() {
        let table = [
            ("wasi:io/poll@0.2.0", true),
            ("wasi:io/poll@0.2.12", true),
            ("damper:plugin/types@1.0.0", true),
            ("damper:plugin/types@1.7.0", true),
            ("damper:plugin/types@2.0.0", false),
            ("damper:plugin/types", false),
            ("wasi:io/poll@0.3.0", false),
            ("wasi:io/poll@0.2.0-rc", false),
            ("wasi:sockets/tcp@0.2.0", false),
            ("wasi:http/types@0.2.0", false),
        ];
        for (import, expected) in table {
            assert_eq!(is_offered(import), expected, "{import}");
        }
    }
}
