//! `guard.check`

use std::sync::Arc;

use damper_call::{LocalizedText, Objection, Span, ToolCall, Verdict};
use wasmtime::{Store, component::Instance};

use super::{Question, Refusal, lend_call, nonsense, not_exported, shorten};
use crate::{
    bindings::exports::damper::plugin::guard,
    failure::GuestFailure,
    plugin::Hooks,
    state::{About, GuestState},
};

/// The most rules that one verdict may name.
const MAX_RULES: usize = 64;
/// The longest rule id, in bytes.
const MAX_RULE: usize = 128;
/// The most languages of a display text.
const MAX_LANGUAGES: usize = 16;
/// The longest language tag, in bytes: what RFC 5646 asks everybody to have room for.
const MAX_LANGUAGE: usize = 35;

/// `guard.check`
pub(crate) struct Check(pub(crate) Arc<ToolCall>);

impl Question for Check {
    type Answer = Verdict;

    fn about(&self) -> About {
        About::call(&self.0)
    }

    async fn ask(
        &self,
        hooks: &Hooks,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> Result<Verdict, Refusal> {
        let indices = hooks.guard.as_ref().ok_or_else(|| not_exported("guard"))?;
        let guard = indices.load(&mut *store, instance)?;
        let call = lend_call(store, &self.0)?;
        let verdict = guard.call_check(store, call).await?;
        Ok(verdict_of(verdict, &self.0)?)
    }
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
