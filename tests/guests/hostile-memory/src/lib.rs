//! A guard that takes all the memory it can get.

use damper_guest::{Call, Guard, NoConfig, Verdict, export_guard};

struct Memory;

impl Guard for Memory {
    const ID: &'static str = "test/hostile-memory";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        let mut hoard = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![1_u8; 1024 * 1024]));
        }
    }
}

export_guard!(Memory);
