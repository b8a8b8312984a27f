//! What asking each hook costs, on fresh instances of plugins that answer well.

use std::sync::Arc;

use damper_call::{
    ApprovalId, Ending, Mail, ModeBinding, Output, Question, Role, Session, ToolAnswer,
    ToolDefinition,
};
use damper_wasm::{Answer, Guest};

use crate::{
    Scale,
    inside::{HARMLESS, Inside},
    report::{Line, Unit},
    sample::Samples,
};

/// The row of `--row`.
const ROW: &str = "each-hook";

/// Asks each hook in turn.
#[expect(
    clippy::too_many_lines,
    reason = "one line a hook, which reads best as a list"
)]
pub(crate) async fn alone(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let inside = Inside::start().await?;
    let turns = scale.of(1_000, 10);
    let call = inside.bash(HARMLESS)?;
    let session = Arc::new(Session {
        mode: ModeBinding::Bound("multitask".to_owned()),
        role: Role::Coordinator,
        ..Session::clone(&inside.session)
    });
    let worker = Arc::new(Session {
        role: Role::Worker,
        kind: Some("subagent".to_owned()),
        depth: 1,
        ..Session::clone(&session)
    });
    let tools: Arc<[Arc<ToolDefinition>]> = inside.dispatcher.tools(&inside.session).await.into();
    let hooks = inside.guard("hostile-hooks").await?;
    let coordinator = inside.guard("coordinator-guard").await?;
    let preset = inside.guard("preset-multitask").await?;
    let persona = inside.guard("worker-persona").await?;
    let runtime = &inside.runtime;
    let mail = Arc::new(Mail {
        sender: Arc::clone(&session),
        recipient: Arc::clone(&worker),
        text: "stop".into(),
        recipient_is_busy: true,
    });
    let question = Arc::new(Question {
        id: ApprovalId::unique(),
        call: Arc::clone(&call),
        rules: vec!["rule".to_owned()],
        reason: "a reason".to_owned(),
        attended: true,
    });
    let answer = Arc::new(ToolAnswer {
        call: Arc::clone(&call),
        ending: Ending::Completed,
        output: Output::text("done"),
        micros: 1,
    });
    let withhold = |guest: Arc<Guest>| runtime.withhold(guest.into(), &session, Arc::clone(&tools));
    Ok(vec![
        line(
            "guard.check, allows",
            turns,
            &inside.guard("allow-guard").await?,
            async |guest| {
                let mut answers = runtime.check(vec![guest.into()], &call).await;
                answers.remove(0)
            },
        )
        .await?,
        line(
            "catalogue.withhold, coordinator-guard",
            turns,
            &coordinator,
            withhold,
        )
        .await?,
        line(
            "preset.describe, multitask",
            turns,
            &preset,
            async |guest| runtime.describe_mode(&guest).await,
        )
        .await?,
        line(
            "preset.compose, multitask",
            turns,
            &preset,
            async |guest: Arc<Guest>| runtime.compose(guest.into(), &session).await,
        )
        .await?,
        line(
            "persona.sections, worker-persona",
            turns,
            &persona,
            async |guest: Arc<Guest>| runtime.sections(guest.into(), &worker).await,
        )
        .await?,
        line(
            "message.before-send",
            turns,
            &hooks,
            async |guest: Arc<Guest>| runtime.before_send(guest.into(), &mail).await,
        )
        .await?,
        line(
            "approval.route",
            turns,
            &hooks,
            async |guest: Arc<Guest>| runtime.route(guest.into(), &question).await,
        )
        .await?,
        line("result.review", turns, &hooks, async |guest: Arc<Guest>| {
            runtime.review(guest.into(), &answer).await
        })
        .await?,
        line(
            "session.opened",
            turns,
            &hooks,
            async |guest: Arc<Guest>| runtime.opened(guest.into(), &session).await,
        )
        .await?,
    ])
}

async fn line<T, F>(
    what: &str,
    turns: usize,
    guest: &Arc<Guest>,
    ask: impl Fn(Arc<Guest>) -> F,
) -> anyhow::Result<Line>
where
    F: Future<Output = Answer<T>>,
{
    let mut samples = Samples::default();
    for _ in 0..turns {
        let answer = samples.time_async(ask(Arc::clone(guest))).await;
        if let Err(failure) = answer.result {
            anyhow::bail!("{what}: {failure}");
        }
    }
    Ok(Line::of(ROW, what, Unit::Micros, &samples))
}
