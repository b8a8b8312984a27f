//! Modes: which there are, and whether a session can run in them.

use damper_call::{Composition, ModeDescription};
use damper_wasm::{GuestFailure, Hook, Mode};

use crate::{
    Running,
    generation::{Generation, InstalledRow, RowState},
};

/// What a preset answered when its row was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedMode {
    /// What people choose it by, or why it does not say.
    pub description: Result<ModeDescription, String>,
    /// How a session of it would be composed, or why none can be.
    pub composition: Result<Composition, String>,
    /// What went wrong meanwhile, each with the hook that was asked.
    pub failures: Vec<(&'static str, GuestFailure)>,
}

/// A mode as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeView {
    /// Its id, which is that of its row.
    pub id: String,
    /// What people choose it by.
    pub description: ModeDescription,
    /// Why no session can run in it, if none can.
    pub cannot_run: Option<String>,
    /// How a session of it is composed, if one can be.
    pub composition: Option<Composition>,
}

/// The place of a mode that cannot say where it belongs: after all others.
const LAST: i32 = i32::MAX;

impl Generation {
    /// Returns all modes, in the order that people see.
    pub fn modes(&self) -> Vec<ModeView> {
        let mut modes: Vec<ModeView> = self.rows.iter().filter_map(|row| row.mode()).collect();
        modes.sort_by(|a, b| {
            let order = |mode: &ModeView| mode.description.order;
            order(a).cmp(&order(b)).then_with(|| a.id.cmp(&b.id))
        });
        modes
    }

    /// Returns a note for each row that covers a mode which no row declares: it would silently do
    /// nothing.
    pub(crate) fn rows_for_no_mode(&self) -> Vec<String> {
        let is_preset = |mode: &str| {
            let mut rows = self.rows.iter();
            rows.any(|row| row.id.as_str() == mode && row.may_declare_a_mode())
        };
        let rows = self.rows.iter().flat_map(|row| {
            let modes = row.row.covers.mode.iter();
            modes.map(move |mode| (row, mode))
        });
        rows.filter(|(_row, mode)| !is_preset(mode))
            .map(|(row, mode)| {
                let position = row.row.origins.nearest("/for");
                format!(
                    "{position}: row `{}`: `for.mode` names `{mode}`, and no row of that id is a preset",
                    row.id
                )
            })
            .collect()
    }
}

impl InstalledRow {
    /// Returns whether the row is a preset, or could be one once it loads or is switched on.
    fn may_declare_a_mode(&self) -> bool {
        match &self.running {
            Running::Plugin(loaded) => loaded.mode.is_some(),
            Running::Nothing => self.declares(Hook::Preset) || self.declared.is_none(),
            Running::Native(_) => false,
        }
    }

    /// Returns the mode that the row's preset declares, if it is one and is switched on.
    pub(crate) fn mode(&self) -> Option<ModeView> {
        let unnamed = || ModeDescription {
            name: self.id.to_string(),
            description: String::new(),
            order: LAST,
        };
        let (description, composition) = match (&self.running, &self.state) {
            (Running::Plugin(loaded), _) => {
                let mode = loaded.mode.as_ref()?;
                let composition = match &mode.description {
                    Ok(_) => mode.composition.clone(),
                    Err(why) => Err(why.clone()),
                };
                let description = mode.description.clone();
                (description.unwrap_or_else(|_why| unnamed()), composition)
            }
            (Running::Nothing, RowState::Failed(why)) if self.declares(Hook::Preset) => {
                (unnamed(), Err(why.clone()))
            }
            (Running::Nothing | Running::Native(_), _) => return None,
        };
        let composition = composition.and_then(can_run);
        Some(ModeView {
            id: self.id.to_string(),
            description,
            cannot_run: composition.as_ref().err().cloned(),
            composition: composition.ok(),
        })
    }
}

/// Returns a composition that this host can run, or what it lacks.
fn can_run(composition: Composition) -> Result<Composition, String> {
    if composition.kinds.is_empty() {
        return Ok(composition);
    }
    let kinds: Vec<&str> = composition
        .kinds
        .iter()
        .map(|kind| kind.name.as_str())
        .collect();
    Err(format!(
        "it hands work to workers ({}), which this version of the host does not run",
        kinds.join(", ")
    ))
}

impl From<&ModeView> for Mode {
    fn from(mode: &ModeView) -> Self {
        Self {
            id: mode.id.clone(),
            name: mode.description.name.clone(),
            description: mode.description.description.clone(),
            cannot_run: mode.cannot_run.clone(),
        }
    }
}
