//! `preset.describe` and `preset.compose`

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use damper_call::{
    Composition, ContextSource, ModeDescription, ModelChoice, Session, ToolDefinition, ToolFilter,
    WorkerKind,
};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_session, nonsense, not_exported, sections_of, shorten};
use crate::{
    bindings::exports::damper::plugin::preset,
    failure::GuestFailure,
    plugin::Hooks,
    state::{About, GuestState},
};

/// The longest name of a mode, in bytes: it stands in tables.
const MAX_NAME: usize = 80;
/// The most kinds of workers of a mode.
const MAX_KINDS: usize = 32;
/// The most names in one list of tools.
const MAX_NAMES: usize = 1_000;
/// The longest name of a provider or model, in bytes.
const MAX_MODEL: usize = 200;

/// What people choose the mode by.
pub(crate) struct DescribeMode;

impl Question for DescribeMode {
    type Answer = ModeDescription;

    fn about(&self) -> About {
        About::default()
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<ModeDescription, Refusal> {
        let indices = hooks
            .preset
            .as_ref()
            .ok_or_else(|| not_exported("preset"))?;
        let preset = indices.load(&mut *store, instance)?;
        let description = preset.call_describe(store).await?;
        let name = shorten(&description.name);
        if name.trim().is_empty() || name.len() > MAX_NAME || name.contains('\n') {
            return Err(nonsense(format!(
                "a mode's name has 1 to {MAX_NAME} bytes on one line"
            ))
            .into());
        }
        Ok(ModeDescription {
            name,
            description: shorten(&description.description),
            order: description.order,
        })
    }
}

/// How a session of the mode is composed. The answer's error is the preset's own word that
/// its mode cannot run.
pub(crate) struct Compose(pub(crate) Arc<Session>);

impl Question for Compose {
    type Answer = Result<Composition, String>;

    fn about(&self) -> About {
        About::session(&self.0)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Result<Composition, String>, Refusal> {
        let indices = hooks
            .preset
            .as_ref()
            .ok_or_else(|| not_exported("preset"))?;
        let preset = indices.load(&mut *store, instance)?;
        let session = lend_session(store, &self.0)?;
        match preset.call_compose(store, session).await? {
            Ok(composition) => Ok(Ok(composition_of(composition)?)),
            Err(preset::ComposeError::CannotRun(why)) => Ok(Err(shorten(&why))),
        }
    }
}

fn composition_of(composition: preset::Composition) -> Result<Composition, GuestFailure> {
    if composition.kinds.len() > MAX_KINDS {
        return Err(nonsense(format!("more than {MAX_KINDS} kinds of workers")));
    }
    let mut names = HashSet::new();
    if let Some(twice) = composition
        .kinds
        .iter()
        .find(|kind| !names.insert(&kind.name))
    {
        return Err(nonsense(format!(
            "two kinds of workers named {:?}",
            shorten(&twice.name)
        )));
    }
    Ok(Composition {
        coordinates: composition.coordinates,
        tools: filter_of(composition.tools)?,
        keep: names_of(composition.keep)?,
        kinds: composition
            .kinds
            .into_iter()
            .map(kind_of)
            .collect::<Result<_, _>>()?,
        sections: sections_of(composition.sections)?,
    })
}

fn kind_of(kind: preset::WorkerKind) -> Result<WorkerKind, GuestFailure> {
    if !ToolDefinition::is_valid_name(&kind.name) {
        return Err(nonsense(format!(
            "the worker kind {:?}",
            shorten(&kind.name)
        )));
    }
    let model = kind.model.map(|model| {
        let fits = |text: &str| {
            (1..=MAX_MODEL).contains(&text.len()) && !text.chars().any(char::is_control)
        };
        match fits(&model.provider) && fits(&model.model) {
            true => Ok(ModelChoice {
                provider: model.provider,
                model: model.model,
            }),
            false => Err(nonsense(format!(
                "the model of the worker kind `{}`",
                kind.name
            ))),
        }
    });
    Ok(WorkerKind {
        description: shorten(&kind.description),
        tools: filter_of(kind.tools)?,
        persona: sections_of(kind.persona)?,
        context: match kind.context {
            preset::ContextSource::Fresh => ContextSource::Fresh,
            preset::ContextSource::Fork => ContextSource::Fork,
            preset::ContextSource::Program => ContextSource::Program,
        },
        model: model.transpose()?,
        name: kind.name,
    })
}

fn filter_of(filter: preset::ToolFilter) -> Result<ToolFilter, GuestFailure> {
    let set = |names| Ok::<BTreeSet<_>, GuestFailure>(names_of(names)?.into_iter().collect());
    Ok(match filter {
        preset::ToolFilter::All => ToolFilter::All,
        preset::ToolFilter::Only(names) => ToolFilter::Only(set(names)?),
        preset::ToolFilter::AllBut(names) => ToolFilter::AllBut(set(names)?),
    })
}

fn names_of(names: Vec<String>) -> Result<Vec<String>, GuestFailure> {
    if names.len() > MAX_NAMES {
        return Err(nonsense(format!("more than {MAX_NAMES} names of tools")));
    }
    match names
        .iter()
        .find(|name| !ToolDefinition::is_valid_name(name))
    {
        Some(wrong) => Err(nonsense(format!("the tool name {:?}", shorten(wrong)))),
        None => Ok(names),
    }
}
