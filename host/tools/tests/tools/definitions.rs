use damper_call::{Dialect, EffectClass, ToolCall, ToolDefinition};
use damper_tools::NativeTool;
use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn every_tool_is_found_by_its_name_and_has_a_closed_schema() {
    for tool in NativeTool::ALL {
        let definition = tool.definition();
        assert!(ToolDefinition::is_valid_name(&definition.name));
        assert_eq!(NativeTool::by_name(&definition.name), Some(tool));
        assert_eq!(definition.input_schema["type"], "object");
        assert_eq!(definition.input_schema["additionalProperties"], false);
        let properties = definition.input_schema["properties"].as_object().unwrap();
        let is_described = |property: &Value| {
            property["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        };
        assert!(properties.values().all(is_described), "{properties:?}");
        let required = definition.input_schema["required"].as_array().unwrap();
        let mut named = definition
            .paths
            .iter()
            .map(String::as_str)
            .chain(required.iter().filter_map(Value::as_str));
        assert!(named.all(|name| properties.contains_key(name)));
    }
    assert_eq!(NativeTool::by_name("Bash"), None);
}

#[test]
fn guards_see_commands_and_paths() {
    let facts = |tool: NativeTool, arguments: Value| {
        ToolCall::facts(&tool.definition(), arguments.as_object().unwrap())
    };
    assert_eq!(
        facts(NativeTool::Bash, json!({"command": "ls", "workdir": "src"})),
        (Some("ls".into()), vec!["src".into()])
    );
    assert_eq!(
        facts(NativeTool::Read, json!({"file_path": "a"})),
        (None, vec!["a".into()])
    );
    assert_eq!(
        facts(NativeTool::Grep, json!({"pattern": "x", "path": "b"})),
        (None, vec!["b".into()])
    );
    let bash = NativeTool::Bash.definition();
    assert_eq!(bash.command.unwrap().dialect, Dialect::Bash);
    assert_eq!(bash.effect, EffectClass::Once);
    assert_eq!(NativeTool::Read.definition().effect, EffectClass::None);
    assert_eq!(NativeTool::Grep.definition().effect, EffectClass::None);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused() {
    let stage = Stage::new();
    let table = [
        (NativeTool::Read, json!({}), "file_path"),
        (NativeTool::Read, json!({"file_path": 1}), "string"),
        (
            NativeTool::Read,
            json!({"file_path": "a", "offset": -1}),
            "-1",
        ),
        (
            NativeTool::Grep,
            json!({"pattern": "a", "flags": "i"}),
            "flags",
        ),
        (
            NativeTool::Bash,
            json!({"command": "ls", "timeout_ms": 1}),
            "timeoutMs",
        ),
    ];
    for (tool, arguments, expected) in table {
        let output = stage.completed(tool, arguments).await;
        assert!(
            output.is_error && output.text.contains(expected),
            "{}",
            output.text
        );
    }
}
