//! A mode that coordinates and has no kinds of workers, so that a host without workers can run it.

use damper_guest::{CannotRun, Composition, Description, NoConfig, Preset, Session, export_preset};

struct Lead;

impl Preset for Lead {
    const ID: &'static str = "test/lead-preset";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn describe(&self) -> Description {
        Description {
            name: "Lead".to_owned(),
            description: "Leads nobody.".to_owned(),
            order: 90,
        }
    }

    fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
        Ok(Composition::coordinator().keep(["read"]))
    }
}

export_preset!(Lead);
