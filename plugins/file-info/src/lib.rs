//! The tool `file_info`: what many paths lead to, in one call.
//!
//! It asks the host about each path and never opens one. A path that the row's grant
//! does not cover is an error of that entry alone.

mod arguments;
mod report;

use damper_guest::{
    Call, Definition, EffectClass, Grants, NoConfig, Output, Tool, ToolError, export_tool, files,
};
use report::{Entry, Report};
use serde_json::json;

struct FileInfo;

impl Tool for FileInfo {
    const ID: &'static str = "damper/file-info";
    const GRANTS: Grants = Grants::WORKSPACE_METADATA;

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn definitions(&self) -> Vec<Definition> {
        vec![Definition {
            name: "file_info".to_owned(),
            description: "Tells for up to 256 paths at once whether each is a file, a directory, \
                something else or missing, where it leads after symbolic links, and how large each \
                file is. Reads no content and changes nothing."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "paths": {
                        "type": "array",
                        "description": "Paths, absolute or relative to the working directory.",
                        "items": {"type": "string", "minLength": 1},
                        "minItems": 1,
                        "maxItems": arguments::MAX_PATHS,
                    },
                },
                "required": ["paths"],
                "additionalProperties": false,
            }),
            effect: EffectClass::None,
            command: None,
            paths: vec!["paths".to_owned()],
        }]
    }

    fn run(&self, call: &Call) -> Result<Output, ToolError> {
        let paths = arguments::paths(&call.arguments()).map_err(ToolError::InvalidArguments)?;
        let entries = paths
            .into_iter()
            .map(|path| {
                let answer = files::stat(&path);
                Entry::new(path, answer)
            })
            .collect();
        Ok(Report::new(entries).into_output())
    }
}

export_tool!(FileInfo);

#[cfg(test)]
mod tests;
