//! A guard whose reason is a mark, so that a test can tell two builds apart.
//!
//! `DAMPER_MARK` is read when it is compiled: `mark-a` unless it is set.

use damper_guest::{Call, Guard, NoConfig, Objection, Verdict, export_guard};

struct Mark;

impl Guard for Mark {
    const ID: &'static str = "test/mark-guard";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        let mark = option_env!("DAMPER_MARK").unwrap_or("mark-a");
        Verdict::Ask(Objection::new(mark, mark))
    }
}

export_guard!(Mark);
