//! `log`: lines for the plugin's log, which is the one that standard output leads to.

use crate::{
    bindings::damper::plugin::log::{Host, Level},
    state::GuestState,
};

impl Host for GuestState {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        // A line stays one line, so that no message can pass for another.
        let message = message.replace(['\n', '\r'], " ");
        Ok(self
            .log
            .append(format!("{level}: {message}\n").as_bytes())?)
    }
}
