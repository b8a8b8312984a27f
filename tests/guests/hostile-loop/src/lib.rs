//! A guard that never answers.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Loop;

impl Guard for Loop {
    const ID: &'static str = "test/hostile-loop";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        loop {
            std::hint::black_box(());
        }
    }
}

export_guard!(Loop);
