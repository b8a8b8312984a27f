//! `clock`: the time, which stands still unless the row grants otherwise.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{
    bindings::damper::plugin::clock::{ClockError, Host},
    state::GuestState,
};

/// Returns the milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

impl Host for GuestState {
    fn started(&mut self) -> wasmtime::Result<u64> {
        Ok(self.started_ms)
    }

    fn now(&mut self) -> wasmtime::Result<Result<u64, ClockError>> {
        Ok(match self.grants.clock {
            true => Ok(now_ms()),
            false => Err(ClockError::NotGranted),
        })
    }
}
