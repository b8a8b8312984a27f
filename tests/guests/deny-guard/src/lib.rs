//! A guard that denies every call.

use damper_guest::{Call, Guard, NoConfig, Objection, Verdict, export_guard};

struct DenyAll;

impl Guard for DenyAll {
    const ID: &'static str = "test/deny-guard";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        Verdict::Deny(Objection::new("denied", "this guard denies everything"))
    }
}

export_guard!(DenyAll);
