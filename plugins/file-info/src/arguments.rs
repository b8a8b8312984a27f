//! The arguments of `file_info`.

use serde_json::Value;

/// The most paths one call may name. As many as the reference tool takes; far below
/// the host calls that a call may make.
pub(crate) const MAX_PATHS: usize = 256;

/// Returns the paths, or what is wrong with the arguments.
pub(crate) fn paths(arguments: &str) -> Result<Vec<String>, String> {
    let wrong = |what: &str| format!("file_info: {what}");
    let Ok(Value::Object(arguments)) = serde_json::from_str(arguments) else {
        return Err(wrong("the arguments are not an object"));
    };
    if let Some(key) = arguments.keys().find(|key| *key != "paths") {
        return Err(wrong(&format!(
            "unknown argument {key:?}; this tool accepts only \"paths\""
        )));
    }
    let paths = match arguments.get("paths") {
        None => {
            return Err(wrong(
                "\"paths\" is missing; it is a list of 1 to 256 paths",
            ));
        }
        Some(Value::Array(paths)) => paths,
        Some(_) => {
            return Err(wrong(
                "\"paths\" is not a list; it is a list of 1 to 256 paths",
            ));
        }
    };
    if paths.is_empty() {
        return Err(wrong("\"paths\" is empty; name at least one path"));
    }
    if paths.len() > MAX_PATHS {
        return Err(wrong(&format!(
            "too many paths ({}); at most {MAX_PATHS} per call",
            paths.len()
        )));
    }
    let path = |(index, path): (usize, &Value)| match path.as_str() {
        None => Err(wrong(&format!("paths[{index}] is not a string"))),
        Some(path) if path.trim().is_empty() => Err(wrong(&format!("paths[{index}] is blank"))),
        Some(path) => Ok(path.to_owned()),
    };
    paths.iter().enumerate().map(path).collect()
}
