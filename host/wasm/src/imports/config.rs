//! `config`: the settings of the plugin's row.

use crate::{bindings::damper::plugin::config::Host, state::GuestState};

impl Host for GuestState {
    fn settings(&mut self) -> wasmtime::Result<String> {
        Ok(self.settings.to_string())
    }
}
