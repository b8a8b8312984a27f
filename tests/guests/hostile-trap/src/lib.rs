//! A guard that panics, with a text that a test can look for.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Trap;

impl Guard for Trap {
    const ID: &'static str = "test/hostile-trap";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        let nothing: Option<Verdict> = std::hint::black_box(None);
        nothing.expect("hostile-trap panics on purpose")
    }
}

export_guard!(Trap);
