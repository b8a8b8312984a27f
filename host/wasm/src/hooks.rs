//! The questions guests are asked, and the checks on what they answer.

use std::sync::Arc;

use damper_call::{
    CommandArgument, Dialect, EffectClass, LocalizedText, Objection, Output, RowId, Span, ToolCall,
    ToolDefinition, ToolSource, Verdict,
};
use wasmtime::{
    Engine, Store,
    component::{Component, Instance, Resource},
};

use crate::{
    bindings::exports::damper::plugin::{describe as describe_hook, guard, tool},
    engine::code_config,
    failure::GuestFailure,
    imports::call::{CallFacts, Machine},
    limits::{LimitHit, LimitKey, Limits},
    log::clean,
    plugin::{Guest, Hooks},
    runtime::linker,
    state::{Endowment, GuestState, store},
    ticker::Ticker,
};

/// What asking a guest gave, and what it cost.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The answer, or why there is none.
    pub result: Result<T, GuestFailure>,
    /// Time from start to answer, in microseconds.
    pub micros: u64,
    /// The most linear memory that was in use, in bytes.
    pub memory: u64,
    /// What the guest wrote to its log, made safe to show.
    pub log: String,
}

/// One thing that is wrong with a row's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// A JSON pointer to the offending value; empty for the whole.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

/// Which question a guest is asked.
pub(crate) trait Question: Send {
    type Answer: Send;

    /// Whether the instance gets its row's settings before it is asked.
    const SETTLED: bool = true;

    /// Asks a fresh instance.
    fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> impl Future<Output = Result<Self::Answer, Refusal>> + Send;
}

/// Why a question has no answer, before it is given a name.
pub(crate) enum Refusal {
    /// wasmtime's word.
    Error(wasmtime::Error),
    /// Ours.
    Failure(GuestFailure),
}

impl From<wasmtime::Error> for Refusal {
    fn from(error: wasmtime::Error) -> Self {
        Self::Error(error)
    }
}

impl From<GuestFailure> for Refusal {
    fn from(failure: GuestFailure) -> Self {
        Self::Failure(failure)
    }
}

/// Makes a fresh instance, gives it its settings, if the question is not about them, and asks it.
pub(crate) async fn ask_fresh<Q: Question>(
    engine: &Engine,
    guest: &Guest,
    call: Option<Arc<ToolCall>>,
    machine: Arc<Machine>,
    seed: [u8; 32],
    question: &Q,
) -> Answer<Q::Answer> {
    let started = std::time::Instant::now();
    let limits = guest.limits.clone();
    let arguments = call.as_ref().map_or(0, |call| call.arguments.len() as u64);
    let endowment = Endowment {
        call,
        machine,
        grants: guest.grants.clone(),
        limits: limits.clone(),
        seed,
    };
    let mut store = store(engine, endowment);
    let asked = async {
        if arguments > limits.arguments {
            let hit = LimitHit::bytes(LimitKey::Arguments, limits.arguments);
            return Err(GuestFailure::Limit(hit).into());
        }
        let hooks = &guest.plugin.hooks;
        let instance = hooks.instance.instantiate_async(&mut store).await?;
        if Q::SETTLED {
            settle(hooks, &mut store, &instance, &guest.settings).await?;
        }
        question.ask(hooks, &mut store, &instance).await
    };
    let asked = match tokio::time::timeout(limits.wall_time, asked).await {
        Ok(asked) => asked,
        Err(_elapsed) => {
            Err(GuestFailure::Limit(LimitHit::time(LimitKey::WallTime, limits.wall_time)).into())
        }
    };
    let state = store.data();
    let result = asked.map_err(|refusal| match refusal {
        Refusal::Failure(failure) => failure,
        Refusal::Error(error) => {
            GuestFailure::from_error(&error, limits.answer, &state.log.last_words())
        }
    });
    Answer {
        result,
        micros: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        memory: state.meter.memory(),
        log: state.log.text(),
    }
}

/// Hands an instance its row's settings, which it took when the row was loaded.
async fn settle(
    hooks: &Hooks,
    store: &mut Store<GuestState>,
    instance: &Instance,
    settings: &str,
) -> Result<(), Refusal> {
    let Some(indices) = &hooks.configure else {
        return Ok(());
    };
    let configure = indices.load(&mut *store, instance)?;
    match configure.call_configure(store, settings).await? {
        Ok(()) => Ok(()),
        Err(errors) => {
            let first = errors
                .first()
                .map_or_else(String::new, |error| shorten(&error.message));
            Err(GuestFailure::Settings(first).into())
        }
    }
}

/// `guard.check`
pub(crate) struct Check(pub(crate) Arc<ToolCall>);

impl Question for Check {
    type Answer = Verdict;

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Verdict, Refusal> {
        let indices = hooks.guard.as_ref().ok_or_else(|| not_exported("guard"))?;
        let guard = indices.load(&mut *store, instance)?;
        let (owned, borrowed) = lend(store, &self.0)?;
        let verdict = guard.call_check(&mut *store, borrowed).await?;
        store
            .data_mut()
            .table
            .delete(owned)
            .map_err(wasmtime::Error::from)?;
        Ok(verdict_of(verdict, &self.0)?)
    }
}

/// `tool.definitions`
pub(crate) struct Definitions(pub(crate) RowId);

impl Question for Definitions {
    type Answer = Vec<ToolDefinition>;

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

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Output, Refusal> {
        let indices = hooks.tool.as_ref().ok_or_else(|| not_exported("tool"))?;
        let tool = indices.load(&mut *store, instance)?;
        let (owned, borrowed) = lend(store, &self.0)?;
        let answer = tool.call_run(&mut *store, borrowed).await?;
        store
            .data_mut()
            .table
            .delete(owned)
            .map_err(wasmtime::Error::from)?;
        Ok(output_of(answer, store.data().meter.limits())?)
    }
}

/// `configure.configure`, asked alone when a row is loaded.
pub(crate) struct Configure(pub(crate) Arc<str>);

/// The most errors in settings that are shown.
const MAX_CONFIG_ERRORS: usize = 20;

impl Question for Configure {
    type Answer = Vec<ConfigError>;

    /// The settings are what it is asked about.
    const SETTLED: bool = false;

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Vec<ConfigError>, Refusal> {
        // Types are checked by loading, so every hook the plugin has is loaded here.
        if let Some(indices) = &hooks.guard {
            indices.load(&mut *store, instance)?;
        }
        if let Some(indices) = &hooks.tool {
            indices.load(&mut *store, instance)?;
        }
        let Some(indices) = &hooks.configure else {
            return Ok(Vec::new());
        };
        let configure = indices.load(&mut *store, instance)?;
        let errors = match configure.call_configure(&mut *store, &self.0).await? {
            Ok(()) => Vec::new(),
            Err(errors) => errors,
        };
        let shown = errors.into_iter().take(MAX_CONFIG_ERRORS);
        Ok(shown
            .map(|error| ConfigError {
                pointer: error.pointer,
                message: shorten(&error.message),
            })
            .collect())
    }
}

/// Lends the call to a guest for the time of one question.
fn lend(
    store: &mut Store<GuestState>,
    call: &Arc<ToolCall>,
) -> Result<(Resource<CallFacts>, Resource<CallFacts>), Refusal> {
    let state = store.data_mut();
    let facts = CallFacts {
        call: Arc::clone(call),
        machine: Arc::clone(&state.machine),
    };
    let owned = state.table.push(facts).map_err(wasmtime::Error::from)?;
    let borrowed = Resource::new_borrow(owned.rep());
    Ok((owned, borrowed))
}

fn not_exported(hook: &str) -> GuestFailure {
    GuestFailure::Host(format!("the plugin does not export the hook `{hook}`"))
}

fn nonsense(why: impl Into<String>) -> GuestFailure {
    GuestFailure::Nonsense(why.into())
}

/// The most rules that one verdict may name.
const MAX_RULES: usize = 64;
/// The longest rule id, in bytes.
const MAX_RULE: usize = 128;
/// The longest reason or display text, in bytes: more than fits a screen helps nobody.
const MAX_TEXT: usize = 8 * 1024;
/// The most languages of a display text.
const MAX_LANGUAGES: usize = 16;
/// The longest language tag, in bytes: what RFC 5646 asks everybody to have room for.
const MAX_LANGUAGE: usize = 35;
/// The most tools of one plugin.
const MAX_TOOLS: usize = 128;

/// Cuts a guest's message to a size that can be shown and makes it safe to show.
fn shorten(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_TEXT);
    clean(&text.as_bytes()[..end])
}

fn verdict_of(verdict: guard::Verdict, call: &ToolCall) -> Result<Verdict, GuestFailure> {
    Ok(match verdict {
        guard::Verdict::Allow => Verdict::Allow,
        guard::Verdict::Ask(objection) => Verdict::Ask(objection_of(objection, call)?),
        guard::Verdict::Deny(objection) => Verdict::Deny(objection_of(objection, call)?),
    })
}

fn objection_of(objection: guard::Objection, call: &ToolCall) -> Result<Objection, GuestFailure> {
    if objection.reason.trim().is_empty() {
        return Err(nonsense("an objection without a reason"));
    }
    if objection.rules.len() > MAX_RULES || objection.rules.iter().any(|rule| !is_rule_id(rule)) {
        return Err(nonsense(format!(
            "rule ids: at most {MAX_RULES}, each 1 to {MAX_RULE} visible ASCII characters"
        )));
    }
    if objection.display.len() > MAX_LANGUAGES {
        return Err(nonsense(format!(
            "display texts in more than {MAX_LANGUAGES} languages"
        )));
    }
    if let Some(display) = objection
        .display
        .iter()
        .find(|display| !is_language(&display.language))
    {
        return Err(nonsense(format!(
            "`{}` is no language tag",
            shorten(&display.language).escape_debug()
        )));
    }
    let judged = call.command.as_deref().unwrap_or(&call.arguments);
    let span = objection.span.map(|span| Span {
        start: span.start,
        end: span.end,
    });
    if let Some(span) = span
        && judged.get(span.start as usize..span.end as usize).is_none()
    {
        return Err(nonsense(format!(
            "a span of bytes {} to {} in a text of {} bytes",
            span.start,
            span.end,
            judged.len()
        )));
    }
    let display = objection.display.into_iter().map(|display| LocalizedText {
        language: display.language,
        text: shorten(&display.text),
    });
    Ok(Objection {
        rules: objection.rules,
        reason: shorten(&objection.reason),
        span,
        effect: objection.effect.as_deref().map(shorten),
        display: display.collect(),
    })
}

/// Returns whether a text has the form of a BCP 47 tag: parts of 1 to 8 letters and digits.
fn is_language(tag: &str) -> bool {
    tag.len() <= MAX_LANGUAGE
        && tag.split('-').all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

fn is_rule_id(rule: &str) -> bool {
    (1..=MAX_RULE).contains(&rule.len()) && rule.bytes().all(|b| b.is_ascii_graphic())
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

/// Asks a component for its manifest: the one time that code runs to describe itself, when
/// the component is built. Compiles in this process, so only for one's own components.
pub fn describe(component: &[u8]) -> anyhow::Result<String> {
    describe_in_sandbox(component).map_err(|error| anyhow::anyhow!("{error:#}"))
}

fn describe_in_sandbox(component: &[u8]) -> wasmtime::Result<String> {
    let engine = Engine::new(&code_config())?;
    let ticker = Ticker::start(&engine)?;
    let component = Component::new(&engine, component)?;
    let instance = linker(&engine)?.instantiate_pre(&component)?;
    let indices = describe_hook::GuestIndices::new(&instance)?;
    let endowment = Endowment {
        call: None,
        machine: Arc::default(),
        grants: crate::Grants::default(),
        limits: Limits::HOOK,
        seed: [0; 32],
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let _ticking = ticker.ticking();
        let mut store = store(&engine, endowment);
        let instance = instance.instantiate_async(&mut store).await?;
        let hook = indices.load(&mut store, &instance)?;
        hook.call_manifest(&mut store).await
    })
}
