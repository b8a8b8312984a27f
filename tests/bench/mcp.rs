//! A call through `damper mcp`, as an agent makes it.

use std::process::Stdio;

use damper_tests::Piped;
use serde_json::{Value, json};

use crate::{
    Scale,
    live::{Client, reading, warm},
    report::{Line, Unit},
    sample::Samples,
};

/// Calls `read` over stdio beside the same call over the control socket.
pub(crate) fn mcp(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let host = warm("")?;
    let client = Client::of(&host);
    let mut command = host.command();
    command
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut pipe = Piped::new(&mut command);
    let initialize = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    ask(&mut pipe, 0, "initialize", &initialize)?;
    pipe.type_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let call = json!({ "name": "read", "arguments": reading(host.work()) });
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for turn in 1..=scale.of(500, 10) {
        let answer = ours.time(|| ask(&mut pipe, turn, "tools/call", &call))?;
        anyhow::ensure!(answer["result"]["isError"] != true, "{answer}");
        bare.time(|| client.read())?;
    }
    Ok(vec![
        Line::of(
            "mcp",
            "a `read` through `damper mcp`, stdio, 4 records",
            Unit::Micros,
            &ours,
        )
        .beside("the same call through the control socket", &bare),
    ])
}

fn ask(pipe: &mut Piped, id: usize, method: &str, params: &Value) -> anyhow::Result<Value> {
    use std::io::BufRead as _;
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    pipe.type_line(&request.to_string());
    loop {
        let mut line = String::new();
        anyhow::ensure!(pipe.stdout.read_line(&mut line)? > 0, "`damper mcp` ended");
        let answer: Value = serde_json::from_str(&line)?;
        if answer["id"] == id {
            return Ok(answer);
        }
    }
}
