//! A guard that calls the host a million times.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Calls;

impl Guard for Calls {
    const ID: &'static str = "test/hostile-calls";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, call: &Call) -> Verdict {
        for _ in 0..1_000_000 {
            std::hint::black_box(call.id());
        }
        Verdict::Allow
    }
}

export_guard!(Calls);
