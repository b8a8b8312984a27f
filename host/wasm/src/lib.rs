//! Runs guests: the only crate that names wasmtime.
//!
//! Owns the engine, the code cache, instances, limits and what guests can import. Knows
//! nothing of profiles, verdict policy or the journal: `dispatch` hands it a component, a
//! row's grants and limits and one call, and gets an answer or a named failure back.

mod around;
mod bindings;
mod cache;
mod compile;
mod engine;
mod failure;
mod grants;
mod hooks;
mod http;
mod imports;
mod limits;
mod log;
mod manifest;
pub mod measure;
mod plugin;
mod runtime;
mod state;
mod ticker;
mod wasi;

pub use around::{Around, Mode};
pub use cache::CacheError;
pub use compile::{CompileError, CompilerCommand, compile_child};
pub use failure::GuestFailure;
pub use grants::{FileGrant, FileGrants, Grants};
pub use hooks::{Answer, Asked, ConfigError, describe::manifest_of as describe};
pub use http::{HttpGrant, InvalidHttpGrant};
pub use limits::{Ceilings, LimitHit, LimitKey, Limits};
pub use manifest::{
    API_VERSION, AskedLimits, Hook, Manifest, ManifestError, append_manifest, read_manifest,
};
pub use plugin::{Guest, LoadError, MAX_COMPONENT, Plugin, is_offered};
pub use runtime::{Runtime, RuntimeSettings, StartError};
