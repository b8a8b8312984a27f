//! Fills in what a case leaves out.

use std::{path::Path, sync::Arc};

use damper_call::{
    CommandArgument, Composed, Composition, Dialect, Door, EffectClass, Ending, Mail, ModeBinding,
    Output, Question, Role, Session, SessionId, ToolAnswer, ToolCall, ToolDefinition, ToolFilter,
    ToolSource,
};
use damper_wasm::Hook;
use serde_json::{Map, Value};

use super::{answer::Asking, format};

/// The argument that holds the command line of a tool that nobody knows.
const COMMAND: &str = "command";

/// What is around a case.
pub(super) struct Around<'a> {
    pub(super) workspace: &'a Path,
    /// The tools of the host.
    pub(super) natives: &'a [ToolDefinition],
    /// The tools of the plugin, if it has the hook.
    pub(super) own_tools: &'a [ToolDefinition],
}

/// Returns what a hook is asked, or what the case lacks.
pub(super) fn asked(
    case: &format::Case,
    hook: Hook,
    around: &Around<'_>,
) -> Result<Asking, String> {
    let needs = |what: &str| {
        format!(
            "a case for the hook `{}` needs `{what}`, for instance {}",
            hook.as_str(),
            match what {
                "mail" => r#""mail": {"text": "hello"}"#,
                _ => r#""call": {"tool": "bash", "command": "ls"}"#,
            }
        )
    };
    let session = || session(&case.session, "session", around.workspace).map(Arc::new);
    let call = || {
        let facts = case.call.as_ref().ok_or_else(|| needs("call"))?;
        let definition = definition(facts, hook, around)?;
        call(facts, definition, session()?).map(Arc::new)
    };
    Ok(match hook {
        Hook::Guard => Asking::Guard(call()?),
        Hook::Tool => Asking::Tool(call()?),
        Hook::Result => Asking::Result(Arc::new(answer(
            case.answer.clone().unwrap_or_default(),
            call()?,
        ))),
        Hook::Approval => Asking::Approval(Arc::new(question(&case.question, call()?)?)),
        Hook::Catalogue => Asking::Catalogue(session()?, tools(case, around)?),
        Hook::Preset => Asking::Preset(session()?),
        Hook::Persona => Asking::Persona(session()?),
        Hook::Session => Asking::Session(session()?),
        Hook::Message => {
            let mail = case.mail.as_ref().ok_or_else(|| needs("mail"))?;
            Asking::Message(Arc::new(message(mail, around.workspace)?))
        }
    })
}

/// Returns the further sessions of a case.
pub(super) fn tree(case: &format::Case, workspace: &Path) -> Result<Vec<Arc<Session>>, String> {
    let numbered = case.tree.iter().enumerate();
    numbered
        .map(|(index, facts)| {
            let id = format!("session-{}", index + 1);
            session(facts, &id, workspace).map(Arc::new)
        })
        .collect()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn session(facts: &format::Session, id: &str, workspace: &Path) -> Result<Session, String> {
    let id: SessionId = parsed(facts.id.as_deref().unwrap_or(id))?;
    let root = match &facts.root {
        Some(root) => parsed(root)?,
        None => id.clone(),
    };
    let door = facts.door.unwrap_or(Door::Mcp);
    let cwd = facts.cwd.clone().unwrap_or_else(|| workspace.to_owned());
    let external = Session::external(id, door, facts.agent.clone(), cwd);
    let policy = facts.policy.unwrap_or(external.policy);
    Ok(Session {
        root,
        parent: facts.parent.as_deref().map(parsed).transpose()?,
        mode: match (&facts.mode, facts.mode_is_unknown) {
            (_, true) => ModeBinding::Unknown,
            (Some(mode), false) => ModeBinding::Bound(mode.clone()),
            (None, false) => ModeBinding::None,
        },
        recorded_mode: facts.recorded_mode.clone().or_else(|| facts.mode.clone()),
        composed: composed(facts),
        role: facts.role.unwrap_or(match facts.mode {
            Some(_) => Role::Solo,
            None => Role::External,
        }),
        kind: facts.kind.clone(),
        depth: facts.depth,
        policy,
        root_policy: facts.root_policy.unwrap_or(policy),
        preset: facts.preset.clone(),
        roots: facts
            .roots
            .clone()
            .unwrap_or_else(|| vec![workspace.to_owned()]),
        ..external
    })
}

/// Of what a session was composed of, guests see only what its mode keeps.
fn composed(facts: &format::Session) -> Option<Arc<Composed>> {
    if facts.keep.is_empty() {
        return None;
    }
    Some(Arc::new(Composed {
        mode: facts.mode.clone().unwrap_or_default(),
        composition: Composition {
            coordinates: true,
            tools: ToolFilter::All,
            keep: facts.keep.clone(),
            kinds: Vec::new(),
            sections: Vec::new(),
        },
        surface: facts.keep.iter().cloned().collect(),
        prompt: Vec::new(),
        notices: Vec::new(),
    }))
}

fn source(plugin: Option<&str>) -> Result<ToolSource, String> {
    match plugin {
        Some(row) => Ok(ToolSource::Plugin(parsed(row)?)),
        None => Ok(ToolSource::Native),
    }
}

/// Returns the called tool: the plugin's own, else the host's, else one of that name.
fn definition(
    facts: &format::Call,
    hook: Hook,
    around: &Around<'_>,
) -> Result<ToolDefinition, String> {
    let by_name = |tools: &[ToolDefinition]| {
        let found = tools.iter().find(|tool| tool.name == facts.tool);
        found.cloned()
    };
    let own = by_name(around.own_tools);
    if hook == Hook::Tool && own.is_none() {
        let names: Vec<&str> = around.own_tools.iter().map(|t| t.name.as_str()).collect();
        return Err(format!(
            "the plugin has no tool `{}`; it has `{}`",
            facts.tool,
            names.join("`, `")
        ));
    }
    let mut definition = match own.or_else(|| by_name(around.natives)) {
        Some(definition) => definition,
        None => bare(&facts.tool, ToolSource::Native),
    };
    if facts.plugin.is_some() {
        definition.source = source(facts.plugin.as_deref())?;
    }
    if let Some(effect) = facts.effect {
        definition.effect = effect;
    }
    if facts.command.is_some() || facts.dialect.is_some() {
        let known = definition.command.take();
        let dialect = facts.dialect.clone();
        definition.command = Some(match known {
            Some(argument) => CommandArgument {
                dialect: dialect.unwrap_or(argument.dialect),
                ..argument
            },
            None => CommandArgument {
                name: COMMAND.to_owned(),
                dialect: dialect.unwrap_or(Dialect::Bash),
            },
        });
    }
    Ok(definition)
}

fn bare(name: &str, source: ToolSource) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema: Map::new(),
        effect: EffectClass::Once,
        command: None,
        paths: Vec::new(),
        source,
    }
}

fn call(
    facts: &format::Call,
    definition: ToolDefinition,
    session: Arc<Session>,
) -> Result<ToolCall, String> {
    let mut arguments = facts.arguments.clone();
    if let Some((text, argument)) = facts.command.as_ref().zip(definition.command.as_ref()) {
        arguments
            .entry(argument.name.clone())
            .or_insert_with(|| text.as_str().into());
    }
    let (command, paths) = ToolCall::facts(&definition, &arguments);
    Ok(ToolCall {
        id: parsed(facts.id.as_deref().unwrap_or("call"))?,
        tool: Arc::new(definition),
        arguments: Value::Object(arguments).to_string().into(),
        command: facts.command.clone().or(command),
        paths: facts.paths.clone().unwrap_or(paths),
        cwd: facts.cwd.clone().unwrap_or_else(|| session.cwd.clone()),
        received_at_ms: facts.started_ms,
        session,
    })
}

fn answer(facts: format::Answered, call: Arc<ToolCall>) -> ToolAnswer {
    ToolAnswer {
        call,
        ending: facts.ending.unwrap_or(Ending::Completed),
        output: Output {
            text: facts.text,
            structured: facts.structured,
            is_error: facts.is_error,
        },
        micros: facts.micros,
    }
}

fn question(facts: &format::Question, call: Arc<ToolCall>) -> Result<Question, String> {
    Ok(Question {
        id: parsed(facts.id.as_deref().unwrap_or("question"))?,
        call,
        rules: facts.rules.clone(),
        reason: facts.reason.clone(),
        attended: facts.attended,
    })
}

fn tools(case: &format::Case, around: &Around<'_>) -> Result<Arc<[Arc<ToolDefinition>]>, String> {
    let Some(listed) = &case.tools else {
        return Ok(around.natives.iter().cloned().map(Arc::new).collect());
    };
    let tool = |tool: &format::ListedTool| {
        let mut definition = bare(&tool.name, source(tool.plugin.as_deref())?);
        definition.effect = tool.effect.unwrap_or(definition.effect);
        Ok(Arc::new(definition))
    };
    listed.iter().map(tool).collect()
}

fn message(facts: &format::Message, workspace: &Path) -> Result<Mail, String> {
    Ok(Mail {
        sender: Arc::new(session(&facts.sender, "sender", workspace)?),
        recipient: Arc::new(session(&facts.recipient, "recipient", workspace)?),
        text: facts.text.as_str().into(),
        recipient_is_busy: facts.recipient_is_busy,
    })
}
