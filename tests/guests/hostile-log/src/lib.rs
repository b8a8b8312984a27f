//! A guard that writes to its log without end.

use std::io::Write;

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Log;

impl Guard for Log {
    const ID: &'static str = "test/hostile-log";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        let line = [b'x'; 1024];
        loop {
            // A refused write must not stop the flood.
            drop(std::io::stderr().write_all(&line));
        }
    }
}

export_guard!(Log);
