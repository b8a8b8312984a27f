//! Tools for tests of limits and swaps: `spin` never ends, `mark` answers the mark
//! that `DAMPER_MARK` held when this was compiled, `mark-a` unless it was set.

use damper_guest::{Call, Definition, EffectClass, NoConfig, Output, Tool, ToolError, export_tool};

struct Slow;

impl Tool for Slow {
    const ID: &'static str = "test/slow-tool";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn definitions(&self) -> Vec<Definition> {
        let tool = |name: &str, description: &str| Definition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: serde_json::json!({"type": "object", "additionalProperties": false}),
            effect: EffectClass::None,
            command: None,
            paths: Vec::new(),
        };
        vec![
            tool("spin", "Never ends."),
            tool("mark", "Answers the mark it was built with."),
        ]
    }

    fn run(&self, call: &Call) -> Result<Output, ToolError> {
        while call.tool() == "spin" {
            for turn in 0..1_000_000 {
                std::hint::black_box(turn);
            }
        }
        Ok(Output::text(option_env!("DAMPER_MARK").unwrap_or("mark-a")))
    }
}

export_tool!(Slow);
