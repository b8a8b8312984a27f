//! What somebody may have meant by a name that does not exist.

use crate::position::quoted;

/// Names longer than this are not typing mistakes; comparing them costs time.
const MAX_NAME_BYTES: usize = 128;

/// Returns the candidate nearest to a wrong name, if any is near enough to suggest.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > MAX_NAME_BYTES {
        return None;
    }
    let folded = wrong.to_lowercase().replace('-', "_");
    candidates
        .into_iter()
        .map(|name| {
            let other = name.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&folded, &other), name)
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .map(|(_, name)| name)
}

/// Returns the hint that suggests the nearest candidate.
pub(crate) fn did_you_mean<'a>(
    wrong: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(wrong, candidates).map(|name| format!("did you mean {}?", quoted(name)))
}
