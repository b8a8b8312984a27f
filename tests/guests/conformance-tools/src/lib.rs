//! The tools that scenarios of the MCP conformance suite call by name, as far as a
//! plugin can provide them. Names, texts and schemas are the suite's.

use damper_guest::{Call, Definition, EffectClass, NoConfig, Output, Tool, ToolError, export_tool};
use serde_json::{Value, json};

struct Conformance;

impl Tool for Conformance {
    const ID: &'static str = "test/conformance-tools";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn definitions(&self) -> Vec<Definition> {
        let tool = |name: &str, description: &str, input_schema: Value| Definition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            effect: EffectClass::None,
            command: None,
            paths: Vec::new(),
        };
        let nothing = || json!({"type": "object", "additionalProperties": false});
        vec![
            tool("test_simple_text", "Returns simple text.", nothing()),
            tool("test_error_handling", "Always fails.", nothing()),
            tool(
                "test_custom_headers",
                "Mirrors an argument in an HTTP header.",
                mirrored(),
            ),
            tool(
                "json_schema_2020_12_tool",
                "Has a schema that uses JSON Schema 2020-12.",
                draft_2020_12(),
            ),
        ]
    }

    fn run(&self, call: &Call) -> Result<Output, ToolError> {
        match call.tool().as_str() {
            "test_error_handling" => Err(ToolError::Failed(
                "This tool intentionally returns an error for testing".to_owned(),
            )),
            _ => Ok(Output::text("This is a simple text response for testing.")),
        }
    }
}

fn mirrored() -> Value {
    json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"}
        },
        "required": ["region"],
        "additionalProperties": false
    })
}

fn draft_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {
                    "street": {"type": "string"},
                    "city": {"type": "string"}
                }
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"]
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

export_tool!(Conformance);
