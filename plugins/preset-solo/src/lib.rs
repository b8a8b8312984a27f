//! The mode `solo`: one agent, all tools.

use damper_guest::{CannotRun, Composition, Description, NoConfig, Preset, Session, export_preset};

const PERSONA: &str = include_str!("../texts/persona.md");

/// The preset of an agent that works alone.
#[derive(Debug, Clone)]
pub struct Solo;

impl Preset for Solo {
    const ID: &'static str = "damper/preset-solo";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn describe(&self) -> Description {
        Description {
            name: "Solo".to_owned(),
            description: "One agent does all the work itself, with all tools.".to_owned(),
            order: 10,
        }
    }

    fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
        Ok(Composition::solo().section("persona", PERSONA))
    }
}

export_preset!(Solo);

#[cfg(test)]
mod tests {
    use damper_guest::{Preset as _, Session, ToolFilter};

    use super::Solo;

    #[test]
    fn works_alone_with_all_tools() {
        let solo = Solo.compose(&Session::new()).expect("it runs");
        assert!(!solo.coordinates);
        assert_eq!(solo.tools, ToolFilter::All);
        assert_eq!(solo.kinds, []);
        assert!(solo.keep.is_empty(), "{:?}", solo.keep);
        assert_eq!(solo.sections[0].id, "persona");
        assert!(solo.sections[0].text.contains("do the work yourself"));
    }
}
