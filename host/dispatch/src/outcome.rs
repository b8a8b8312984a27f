//! What callers are told, in the words of this host.

use damper_call::{CallId, Ending, Fault, Outcome, Output};
use damper_journal::{CallFinished, Event, Record};

use crate::{approvals::Reply, redact::redact_text, reviews::told};

/// Returns the outcome of a call that nobody let run. Ends with how to learn more. What it
/// says is journalled, so that secrets which guards quoted are taken out.
pub(crate) fn denied(call: &CallId, why: &str) -> Outcome {
    let why = redact_text(why);
    let text =
        format!("Denied by Damper: {why}\nThe tool did not run. To see why: damper explain {call}");
    failed(call, Ending::Denied, text)
}

/// Returns the outcome of a call that a person, or the lack of one, refused.
pub(crate) fn not_approved(call: &CallId, reason: &str, reply: &Reply) -> Outcome {
    let why = reply
        .why
        .as_deref()
        .map(|why| format!(": {why}"))
        .unwrap_or_default();
    let text = match reply.by.as_str() {
        "nobody" | "host" => format!("{reason}\nThis needs a person's approval{why}."),
        by => format!("{reason}\n{by} was asked and did not allow it{why}."),
    };
    denied(call, &text)
}

/// Returns the outcome of a call that failed.
pub(crate) fn fault(call: &CallId, fault: &Fault) -> Outcome {
    failed(call, Ending::Failed, fault.text().to_owned())
}

/// Returns the outcome of a call that its caller took back before the tool ran.
pub(crate) fn cancelled(call: &CallId) -> Outcome {
    failed(
        call,
        Ending::Cancelled,
        "the call was cancelled before its tool ran".to_owned(),
    )
}

/// Returns an outcome whose text says what went wrong.
pub(crate) fn failed(call: &CallId, ending: Ending, text: String) -> Outcome {
    Outcome {
        call: call.clone(),
        ending,
        output: Output::error(text),
    }
}

/// Returns the outcome that the journal holds: a finished call is answered, never repeated.
pub(crate) fn recorded(call: &CallId, record: Record) -> Outcome {
    let Event::CallFinished(CallFinished {
        ending,
        text,
        structured,
        is_error,
        reviews,
        ..
    }) = record.event
    else {
        let text = "the journal's record of this call cannot be read".to_owned();
        return failed(call, Ending::Unknown, text);
    };
    let output = Output {
        text,
        structured,
        is_error,
    };
    Outcome {
        call: call.clone(),
        ending,
        output: told(output, &reviews),
    }
}
