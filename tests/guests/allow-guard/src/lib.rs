//! A guard without objections.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct AllowAll;

impl Guard for AllowAll {
    const ID: &'static str = "test/allow-guard";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        Verdict::Allow
    }
}

export_guard!(AllowAll);
