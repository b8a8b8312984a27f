//! A guard that never finishes configuring.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Configure;

impl Guard for Configure {
    const ID: &'static str = "test/hostile-configure";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        loop {
            std::hint::black_box(());
        }
    }

    fn check(&self, _: &Call) -> Verdict {
        Verdict::Allow
    }
}

export_guard!(Configure);
