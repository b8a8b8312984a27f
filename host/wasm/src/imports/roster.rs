//! `roster`: the modes.

use crate::{
    bindings::damper::plugin::roster::{Host, Mode, RosterError},
    state::GuestState,
};

impl Host for GuestState {
    fn modes(&mut self) -> wasmtime::Result<Result<Vec<Mode>, RosterError>> {
        if !self.grants.roster {
            return Ok(Err(RosterError::NotGranted));
        }
        let modes = self.around.modes();
        let modes = modes.iter().map(|mode| Mode {
            id: mode.id.clone(),
            name: mode.name.clone(),
            description: mode.description.clone(),
            cannot_run: mode.cannot_run.clone(),
        });
        Ok(Ok(modes.collect()))
    }
}
