//! A guard that ends its process, with a code that means success.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Exit;

impl Guard for Exit {
    const ID: &'static str = "test/hostile-exit";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        std::process::exit(0)
    }
}

export_guard!(Exit);
