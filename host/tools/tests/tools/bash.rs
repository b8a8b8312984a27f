use std::time::Instant;

use damper_call::Output;
use damper_tools::{NativeTool, ToolResult};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::stage::Stage;

async fn bash(stage: &Stage, command: &str) -> Output {
    stage
        .completed(NativeTool::Bash, json!({"command": command}))
        .await
}

/// Checks what is printed and how it ends, below a supervisor and without one.
async fn check(command: &str, printed: &str, exit_code: Option<i32>, signal: Option<i32>) {
    for stage in [Stage::new(), Stage::new().without_launcher()] {
        let output = bash(&stage, command).await;
        let (body, note) = output.text.rsplit_once('[').unwrap();
        assert_eq!(body, printed, "{command}: {note}");
        let structured = json!({
            "exit_code": exit_code, "signal": signal, "timed_out": false, "truncated": false
        });
        assert_eq!(output.structured, Some(structured), "{command}");
        assert_eq!(output.is_error, exit_code != Some(0), "{command}");
        let ending = match (exit_code, signal) {
            (Some(code), _) => format!("exit code {code} after "),
            (None, signal) => format!("killed by signal {} after ", signal.unwrap()),
        };
        assert!(note.starts_with(&ending), "{command}: {note}");
    }
}

#[tokio::test]
async fn returns_what_is_printed_and_how_it_ended() {
    check("echo hello", "hello\n", Some(0), None).await;
    check("printf hello", "hello\n", Some(0), None).await;
    check("true", "", Some(0), None).await;
    check(
        "echo 1; echo 2 >&2; echo 3; echo 4 >&2",
        "1\n2\n3\n4\n",
        Some(0),
        None,
    )
    .await;
    check("echo no; exit 3", "no\n", Some(3), None).await;
    check("kill -9 $$", "", None, Some(9)).await;
    check("kill -TERM $$", "", None, Some(15)).await;
    check("false | true", "", Some(0), None).await;
    check(
        "[[ -n $BASH_VERSION ]] && echo {1..3}",
        "1 2 3\n",
        Some(0),
        None,
    )
    .await;
    check(
        "printf 'a\\nb\\n' | while read -r x; do echo \"<$x>\"; done",
        "<a>\n<b>\n",
        Some(0),
        None,
    )
    .await;
}

#[tokio::test]
async fn odd_commands_are_run_as_they_are() {
    check("-x 2>/dev/null", "", Some(127), None).await;
    check("--version 2>/dev/null", "", Some(127), None).await;
    check("", "", Some(0), None).await;
    check("# nothing\n\n", "", Some(0), None).await;
    check("printf 'caf\\xe9\\n'", "caf\u{fffd}\n", Some(0), None).await;
    check("printf 'a\\0b\\n'", "a\0b\n", Some(0), None).await;
    check("echo $#; echo \"$@\"", "0\n\n", Some(0), None).await;
}

#[tokio::test]
async fn a_command_has_no_input_no_terminal_and_the_usual_signals() {
    check("cat", "", Some(0), None).await;
    check("read -r x || echo end", "end\n", Some(0), None).await;
    check(
        "yes | head -n1; echo ${PIPESTATUS[0]}",
        "y\n141\n",
        Some(0),
        None,
    )
    .await;
    let stage = Stage::new();
    let output = bash(&stage, "exec 3</dev/tty && echo terminal").await;
    assert!(!output.text.contains("terminal\n"), "{}", output.text);
    // The socket to the supervisor is not passed on.
    let output = bash(&stage, "ls -l /proc/self/fd | grep socket").await;
    assert!(output.text.starts_with("[exit code 1 "), "{}", output.text);
}

#[tokio::test]
async fn a_command_sees_little_of_the_host() {
    check(
        "echo $TERM; [[ -n $PATH ]] && echo path",
        "dumb\npath\n",
        Some(0),
        None,
    )
    .await;
    // Cargo gives the test, which is the host here, many of these.
    check(
        "env | grep -c -e ^CARGO_PKG -e ^CARGO_MANIFEST -e ^DAMPER",
        "0\n",
        Some(1),
        None,
    )
    .await;
}

#[tokio::test]
async fn runs_inside_the_roots_only() {
    let stage = Stage::new();
    stage.write("sub/file", "");
    stage.link("out", stage.outside(""));
    let run = |workdir: &str| {
        stage.completed(
            NativeTool::Bash,
            json!({"command": "pwd; ls", "workdir": workdir, "description": "looks around"}),
        )
    };
    let inside = run("sub").await;
    let expected = format!("{}\nfile\n[exit code 0 after ", stage.path("sub").display());
    assert!(inside.text.starts_with(&expected), "{}", inside.text);
    for (workdir, expected) in [
        ("..", "is outside"),
        ("out", "is outside"),
        ("/", "is outside"),
        ("home", "belongs to damper itself"),
        ("none", "does not exist"),
        ("sub/file", "is not a folder"),
        ("", "the path is empty"),
    ] {
        let refused = run(workdir).await;
        assert!(
            refused.is_error && refused.text.contains(expected),
            "{}",
            refused.text
        );
        assert_eq!(refused.structured, None);
    }
}

#[tokio::test]
async fn says_why_a_command_cannot_be_started() {
    let mut stage = Stage::new();
    let long = format!("echo {}", "x".repeat(3 * 1024 * 1024));
    let table = [("a\0b", "NUL"), (long.as_str(), "too long for the system")];
    for (command, expected) in table {
        let refused = bash(&stage, command).await;
        assert!(
            refused.is_error && refused.text.contains(expected),
            "{}",
            refused.text
        );
    }
    stage.context.launcher = Some("/nonexistent/damper".into());
    let refused = bash(&stage, "true").await;
    assert!(
        refused
            .text
            .contains("`/nonexistent/damper` cannot be started"),
        "{}",
        refused.text
    );
    stage.context.launcher = Some("/bin/true".into());
    let refused = bash(&stage, "true").await;
    assert!(
        refused.is_error && refused.text.contains("watches over"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_end() {
    for mut stage in [Stage::new(), Stage::new().without_launcher()] {
        stage.context.output_chars = 20;
        let output = bash(
            &stage,
            "echo begin; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo end",
        )
        .await;
        let expected = "begin\nxxxx\n[... 299999991 bytes left out; to see them, write the \
                        output to a file and read that ...]\nxxxxx\nend\n[exit code 0 after ";
        assert!(output.text.starts_with(expected), "{}", output.text);
        assert_eq!(output.structured.unwrap()["truncated"], true);
    }
}

#[tokio::test]
async fn a_command_that_is_already_over_time_or_cancelled_is_not_started() {
    let mut stage = Stage::new();
    let arguments = json!({"command": "touch started"});
    stage.context.deadline = Instant::now();
    let late = stage.run(NativeTool::Bash, arguments.clone()).await;
    assert!(matches!(late, ToolResult::TimedOut(_)), "{late:?}");
    stage.context.cancel.cancel();
    let cancelled = stage.run(NativeTool::Bash, arguments).await;
    assert!(
        matches!(cancelled, ToolResult::Cancelled(_)),
        "{cancelled:?}"
    );
    assert!(!stage.path("started").exists());
}

#[tokio::test]
async fn times_out_by_the_argument_and_by_the_callers_deadline() {
    for (timeout, deadline) in [(json!(50), None), (Value::Null, Some(50))] {
        let mut stage = Stage::new();
        let mut arguments = json!({"command": "echo so far; sleep 1000"});
        if timeout.is_number() {
            arguments["timeoutMs"] = timeout;
        }
        if let Some(ms) = deadline {
            stage.context.deadline = Instant::now() + std::time::Duration::from_millis(ms);
        }
        let ended = stage.run(NativeTool::Bash, arguments).await;
        let ToolResult::TimedOut(output) = ended else {
            panic!("{ended:?}");
        };
        assert!(output.is_error);
        assert!(output.text.contains("[timed out after "), "{}", output.text);
        assert!(output.text.contains("larger timeoutMs"), "{}", output.text);
        assert_eq!(output.structured.unwrap()["timed_out"], true);
    }
}

#[tokio::test]
async fn tells_the_last_line_while_it_runs() {
    let mut stage = Stage::new();
    let (sender, mut lines) = mpsc::channel(1);
    stage.context.progress = Some(sender);
    let gate = stage.fifo("gate");
    let running = bash(
        &stage,
        "echo step 1; echo step 2; read -r go < gate; echo $go",
    );
    let open_gate = async {
        assert_eq!(lines.recv().await.as_deref(), Some("step 2"));
        std::fs::write(gate, "done\n").unwrap();
    };
    let (output, ()) = tokio::join!(running, open_gate);
    assert!(
        output.text.starts_with("step 1\nstep 2\ndone\n"),
        "{}",
        output.text
    );
}
