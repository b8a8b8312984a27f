//! `configure.configure`, and whether all hooks of a plugin have the types of the contract.

use std::sync::Arc;

use wasmtime::{Store, component::Instance};

use super::{ConfigError, Question, Refusal, shorten};
use crate::{
    plugin::Hooks,
    state::{About, GuestState},
};

/// `configure.configure`, asked alone when a row is loaded.
pub(crate) struct Configure(pub(crate) Arc<str>);

/// The most errors in settings that are shown.
const MAX_CONFIG_ERRORS: usize = 20;

impl Question for Configure {
    type Answer = Vec<ConfigError>;

    /// The settings are what it is asked about.
    const SETTLED: bool = false;

    fn about(&self) -> About {
        About::default()
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Vec<ConfigError>, Refusal> {
        hooks.load_all(store, instance)?;
        let Some(indices) = &hooks.configure else {
            return Ok(Vec::new());
        };
        let configure = indices.load(&mut *store, instance)?;
        let errors = match configure.call_configure(&mut *store, &self.0).await? {
            Ok(()) => Vec::new(),
            Err(errors) => errors,
        };
        let shown = errors.into_iter().take(MAX_CONFIG_ERRORS);
        Ok(shown
            .map(|error| ConfigError {
                pointer: error.pointer,
                message: shorten(&error.message),
            })
            .collect())
    }
}
