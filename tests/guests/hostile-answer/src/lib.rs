//! A guard whose reason is a megabyte long.

use damper_guest::{Call, Guard, NoConfig, Objection, Verdict, export_guard};

struct Answer;

impl Guard for Answer {
    const ID: &'static str = "test/hostile-answer";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        Verdict::Ask(Objection::new("large", "x".repeat(1024 * 1024)))
    }
}

export_guard!(Answer);
