//! Reviews: what plugins make of a tool's answer before the caller is told.

use std::sync::Arc;

use damper_call::{Disposition, Output, ToolAnswer};
use damper_journal::Reviewed;
use damper_wasm::{Asked, Hook, Runtime};

use crate::{
    Machinery,
    asking::{Asking, ask},
    generation::Generation,
    redact::redact_text,
};

/// Asks every plugin that covers the session. One that fails leaves the answer as it is.
pub(crate) async fn review(
    machinery: &Machinery,
    generation: &Generation,
    answer: &Arc<ToolAnswer>,
) -> Vec<Reviewed> {
    let call = &answer.call;
    let mut reviews = Vec::new();
    for row in generation.asked(Hook::Result, &call.session) {
        let Some(loaded) = row.plugin(Hook::Result) else {
            continue;
        };
        let asking = Asking {
            row: &row,
            loaded,
            guest: &loaded.hook,
            hook: "result.review",
            session: &call.session.id,
            call: Some(&call.id),
            input: Runtime::digest(answer.output.text.as_bytes()),
            may_repeat: true,
        };
        let question = |guest: Asked| machinery.runtime.review(guest, answer);
        let (withheld, text) = match ask(machinery, asking, question).await {
            Ok(Disposition::Annotate(note)) => (false, note),
            Ok(Disposition::Withhold(why)) => (true, why),
            Ok(Disposition::Keep) | Err(_) => continue,
        };
        reviews.push(Reviewed {
            row: row.id.clone(),
            withheld,
            // Plugins quote what they saw, secrets included, and this is journalled.
            text: redact_text(&text),
        });
    }
    reviews
}

/// Returns what the caller is told of an answer: the same now and whenever the record is read.
pub(crate) fn told(output: Output, reviews: &[Reviewed]) -> Output {
    let lines = |withheld: bool| {
        reviews
            .iter()
            .filter(move |review| review.withheld == withheld)
            .map(|review| format!("[{}] {}", review.row, review.text))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let reasons = lines(true);
    if !reasons.is_empty() {
        return Output::error(format!("The answer is withheld by Damper:\n{reasons}"));
    }
    let notes = lines(false);
    if notes.is_empty() {
        return output;
    }
    Output {
        text: format!("{}\n\nNotes by Damper:\n{notes}", output.text),
        ..output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withholding_beats_notes_and_all_notes_are_told() {
        let review = |row: &str, withheld, text: &str| Reviewed {
            row: row.parse().unwrap(),
            withheld,
            text: text.to_owned(),
        };
        let note = || review("a", false, "look out");
        let other = || review("b", false, "really");
        let hold = || review("c", true, "holds a key");
        let table = [
            (vec![], "answer", false),
            (
                vec![note(), other()],
                "answer\n\nNotes by Damper:\n[a] look out\n[b] really",
                false,
            ),
            (
                vec![note(), hold()],
                "The answer is withheld by Damper:\n[c] holds a key",
                true,
            ),
        ];
        for (reviews, expected, is_error) in table {
            let output = told(Output::text("answer"), &reviews);
            assert_eq!(output.text, expected);
            assert_eq!(output.is_error, is_error);
        }
    }
}
