//! Holds an answer against what a case expects.

use damper_wasm::Hook;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    answer::Seen,
    format::{Expect, keys_of},
};

/// What can be expected whatever hook is asked.
const KEYS_OF_ALL: [&str; 3] = ["state", "log", "failure"];

/// The keys whose value is a part of the text that comes.
const PARTS: [&str; 5] = ["reason", "text", "error", "cannot_run", "log"];

/// One thing that was not as expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The key under `expect`; `failure` where the plugin did not answer.
    pub key: String,
    /// What the case says.
    pub expected: Value,
    /// What came; null if nothing did.
    pub got: Value,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = |value: &Value| match value.is_null() {
            true => "nothing".to_owned(),
            false => value.to_string(),
        };
        let (expected, got) = (told(&self.expected), told(&self.got));
        write!(f, "{}: expected {expected}, got {got}", self.key)
    }
}

/// Returns what a case expects by key, or what is wrong with it.
pub(super) fn expected(expect: &Expect, hook: Hook) -> Result<Map<String, Value>, String> {
    let Ok(Value::Object(expected)) = serde_json::to_value(expect) else {
        return Err("`expect` must be an object".to_owned());
    };
    if expected.is_empty() {
        return Err(format!(
            "`expect` is empty, so the case could not fail; name one of `{}`",
            known(hook)
        ));
    }
    let wrong = expected.keys().find(|key| {
        let key = key.as_str();
        !keys_of(hook).contains(&key) && !KEYS_OF_ALL.contains(&key)
    });
    match wrong {
        Some(key) => Err(format!(
            "`{key}` is nothing that the hook `{}` answers; it answers `{}`",
            hook.as_str(),
            known(hook)
        )),
        None => Ok(expected),
    }
}

fn known(hook: Hook) -> String {
    let keys: Vec<&str> = keys_of(hook).iter().copied().chain(KEYS_OF_ALL).collect();
    keys.join("`, `")
}

/// Returns all that is not as expected.
pub(super) fn differences(expected: &Map<String, Value>, seen: &Seen) -> Vec<Difference> {
    // A failure that nobody expects says more than all the answers that are missing.
    if let Some(failure) = &seen.failure
        && !expected.contains_key("failure")
    {
        return vec![Difference {
            key: "failure".to_owned(),
            expected: Value::Null,
            got: format!("{}: {}", failure.kind(), failure).into(),
        }];
    }
    let differ = |(key, expected): (&String, &Value)| {
        let got = seen.values.get(key).cloned().unwrap_or(Value::Null);
        let fits = match (key.as_str(), expected, &got) {
            ("sections", Value::Object(expected), Value::Object(got)) => expected
                .iter()
                .all(|(id, part)| fits_part(part, got.get(id).unwrap_or(&Value::Null))),
            ("notices", Value::Array(expected), Value::Array(got)) => {
                let mut pairs = expected.iter().zip(got);
                expected.len() == got.len() && pairs.all(|(part, notice)| fits_part(part, notice))
            }
            (key, expected, got) if PARTS.contains(&key) => fits_part(expected, got),
            (_key, expected, got) => expected == got,
        };
        (!fits).then(|| Difference {
            key: key.clone(),
            expected: expected.clone(),
            got,
        })
    };
    expected.iter().filter_map(differ).collect()
}

fn fits_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.contains(part.as_str()),
        (part, whole) => part == whole,
    }
}

#[cfg(test)]
mod tests {
    use damper_wasm::{GuestFailure, Hook};
    use serde_json::{Value, json};

    use super::{differences, expected};
    use crate::cases::answer::Seen;

    /// Checks which keys differ.
    #[track_caller]
    fn check(expect: &Value, seen: &Value, keys: &[&str]) {
        let seen = Seen {
            values: seen.as_object().unwrap().clone(),
            ..Seen::default()
        };
        let found = differences(expect.as_object().unwrap(), &seen);
        let found: Vec<&str> = found.iter().map(|found| found.key.as_str()).collect();
        assert_eq!(found, keys, "{expect}");
    }

    #[test]
    fn texts_are_parts_and_all_else_is_equal() {
        let seen = json!({"verdict": "ask", "rules": ["a", "b"], "reason": "it says so"});
        check(&json!({"verdict": "ask", "reason": "says"}), &seen, &[]);
        check(&json!({"verdict": "as"}), &seen, &["verdict"]);
        check(&json!({"reason": "said"}), &seen, &["reason"]);
        check(&json!({"rules": ["a"]}), &seen, &["rules"]);
        check(&json!({"effect": "x"}), &seen, &["effect"]);
        let prompt = json!({"sections": {"persona": "You read.", "x": "y"}});
        check(&json!({"sections": {"persona": "read"}}), &prompt, &[]);
        check(&json!({"sections": {"z": null}}), &prompt, &[]);
        check(&json!({"sections": {"x": null}}), &prompt, &["sections"]);
        check(&json!({"sections": {"z": "y"}}), &prompt, &["sections"]);
        let said = json!({"notices": ["one thing"]});
        check(&json!({"notices": ["one"]}), &said, &[]);
        check(&json!({"notices": []}), &said, &["notices"]);
        check(&json!({"notices": ["one", "two"]}), &said, &["notices"]);
    }

    #[test]
    fn a_failure_is_told_unless_it_is_expected() {
        let failure = GuestFailure::Trap("unreachable".to_owned());
        let seen = Seen::failed(&failure, 0, String::new());
        let asked = json!({"verdict": "ask"});
        let found = differences(asked.as_object().unwrap(), &seen);
        assert_eq!(
            found[0].to_string(),
            "failure: expected nothing, got \"trap: trapped: unreachable\""
        );
        let trap = json!({"failure": "trap"});
        assert_eq!(differences(trap.as_object().unwrap(), &seen), []);
        let limit = json!({"failure": "limit"});
        assert_eq!(differences(limit.as_object().unwrap(), &seen).len(), 1);
    }

    #[test]
    fn expects_only_what_the_hook_answers() {
        let table = [
            (json!({}), "could not fail"),
            (json!({"withheld": []}), "it answers `verdict`"),
        ];
        for (expect, part) in table {
            let expect = serde_json::from_value(expect).unwrap();
            let error = expected(&expect, Hook::Guard).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
