//! `tool.definitions` and `tool.run`

use std::sync::Arc;

use damper_call::{
    CommandArgument, Dialect, EffectClass, Output, RowId, ToolCall, ToolDefinition, ToolSource,
};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_call, nonsense, not_exported, shorten};
use crate::{
    bindings::exports::damper::plugin::tool,
    failure::GuestFailure,
    limits::{LimitHit, LimitKey, Limits},
    log::clean,
    plugin::Hooks,
    state::{About, GuestState},
};

/// The most tools of one plugin.
const MAX_TOOLS: usize = 128;

/// `tool.definitions`
pub(crate) struct Definitions(pub(crate) RowId);

impl Question for Definitions {
    type Answer = Vec<ToolDefinition>;

    fn about(&self) -> About {
        About::default()
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Vec<ToolDefinition>, Refusal> {
        let indices = hooks.tool.as_ref().ok_or_else(|| not_exported("tool"))?;
        let tool = indices.load(&mut *store, instance)?;
        let definitions = tool.call_definitions(store).await?;
        if definitions.len() > MAX_TOOLS {
            return Err(
                nonsense(format!("{} tools; at most {MAX_TOOLS}", definitions.len())).into(),
            );
        }
        let definitions = definitions
            .into_iter()
            .map(|definition| definition_of(definition, &self.0));
        Ok(definitions.collect::<Result<_, _>>()?)
    }
}

/// `tool.run`
pub(crate) struct Run(pub(crate) Arc<ToolCall>);

impl Question for Run {
    type Answer = Output;

    fn about(&self) -> About {
        About::call(&self.0)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Output, Refusal> {
        let indices = hooks.tool.as_ref().ok_or_else(|| not_exported("tool"))?;
        let tool = indices.load(&mut *store, instance)?;
        let call = lend_call(store, &self.0)?;
        let answer = tool.call_run(&mut *store, call).await?;
        Ok(output_of(answer, store.data().meter.limits())?)
    }
}

fn definition_of(
    definition: tool::Definition,
    row: &RowId,
) -> Result<ToolDefinition, GuestFailure> {
    let name = definition.name;
    if !ToolDefinition::is_valid_name(&name) {
        return Err(nonsense(format!("the tool name {:?}", shorten(&name))));
    }
    let input_schema = serde_json::from_str(&definition.input_schema).map_err(|error| {
        nonsense(format!(
            "the input schema of `{name}` is no JSON object: {error}"
        ))
    })?;
    Ok(ToolDefinition {
        description: shorten(&definition.description),
        input_schema,
        effect: match definition.effect {
            tool::EffectClass::None => EffectClass::None,
            tool::EffectClass::Idempotent => EffectClass::Idempotent,
            tool::EffectClass::Once => EffectClass::Once,
        },
        command: definition.command.map(|argument| CommandArgument {
            name: argument.name,
            dialect: match argument.dialect {
                tool::Dialect::Bash => Dialect::Bash,
                tool::Dialect::Powershell => Dialect::Powershell,
                tool::Dialect::Cmd => Dialect::Cmd,
                tool::Dialect::Other(other) => Dialect::Other(other),
            },
        }),
        paths: definition.paths,
        source: ToolSource::Plugin(row.clone()),
        name,
    })
}

fn output_of(
    answer: Result<tool::Output, tool::ToolError>,
    limits: &Limits,
) -> Result<Output, GuestFailure> {
    let output = match answer {
        Ok(output) => output,
        Err(
            tool::ToolError::InvalidArguments(text)
            | tool::ToolError::Denied(text)
            | tool::ToolError::Failed(text),
        ) => {
            return Ok(Output::error(clean(text.as_bytes())));
        }
    };
    let size = output.text.len() + output.structured.as_ref().map_or(0, String::len);
    if size as u64 > limits.answer {
        return Err(GuestFailure::Limit(LimitHit::bytes(
            LimitKey::Answer,
            limits.answer,
        )));
    }
    let structured = output
        .structured
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| nonsense(format!("a structured answer that is not JSON: {error}")))?;
    Ok(Output {
        text: output.text,
        structured,
        is_error: false,
    })
}
