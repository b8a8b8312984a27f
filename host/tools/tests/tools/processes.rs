//! What is left of a command when it is over: nothing.

use std::{
    env,
    process::{Command, Stdio},
    time::Duration,
};

use damper_call::Output;
use damper_tools::{NativeTool, ToolResult};
use serde_json::json;

use crate::stage::{Stage, Witness, check_gone, until_gone};

/// Writes the ids of its processes into a FIFO that all of them keep open. None of them
/// ends by itself or at SIGTERM.
const STUBBORN: &str = "exec 3>witness; trap '' TERM
    echo $$ >&3
    (trap '' TERM; echo $BASHPID >&3; while :; do sleep 1000; done) &
    (trap '' TERM; (echo $BASHPID >&3; while :; do sleep 1000; done) & wait)
    while :; do sleep 1000; done";

/// The same in a session of its own and with a parent that is gone at once.
const ESCAPED: &str = "exec 3>witness
    echo $$ >&3
    (setsid bash -c 'trap \"\" TERM; echo $$ >&3; while :; do sleep 1000; done' &)
    (setsid -f bash -c 'echo $$ >&3; kill -STOP $$; sleep 1000')
    sleep 1000";

fn stages() -> [Stage; 2] {
    [Stage::new(), Stage::new().without_launcher()].map(|s| s.with_grace(Duration::from_millis(50)))
}

async fn pids(witness: &mut Witness, count: usize) -> Vec<i32> {
    let mut pids = Vec::new();
    for _ in 0..count {
        pids.push(witness.pid().await);
    }
    pids
}

async fn check_all_gone(witness: &mut Witness, pids: &[i32]) {
    witness.end().await;
    for &pid in pids {
        check_gone(pid);
    }
}

/// For processes that are killed while nobody waits for an answer.
async fn all_end(witness: &mut Witness, pids: &[i32]) {
    witness.end().await;
    for &pid in pids {
        until_gone(pid).await;
    }
}

/// Runs a command, cancels it when `count` processes are there, and checks that they go.
async fn check_cancelled(stage: &Stage, command: &str, count: usize) -> Output {
    let mut witness = stage.witness("witness");
    let running = stage.run(NativeTool::Bash, json!({"command": command}));
    let cancel = async {
        let pids = pids(&mut witness, count).await;
        stage.context.cancel.cancel();
        pids
    };
    let (ended, pids) = tokio::join!(running, cancel);
    check_all_gone(&mut witness, &pids).await;
    let ToolResult::Cancelled(output) = ended else {
        panic!("{ended:?}");
    };
    output
}

#[tokio::test]
async fn cancelling_kills_the_tree_even_if_it_ignores_sigterm() {
    for stage in stages() {
        let output = check_cancelled(&stage, STUBBORN, 3).await;
        assert!(
            output.text.starts_with("[cancelled after "),
            "{}",
            output.text
        );
        assert!(!output.text.contains("did not end"), "{}", output.text);
    }
}

#[tokio::test]
async fn cancelling_lets_a_command_clean_up_first() {
    for stage in [Stage::new(), Stage::new().without_launcher()] {
        // Only builtins: a child that bash is just forking may lose the signal.
        let command = "exec 3>witness; trap 'echo cleaned; exit 0' TERM; echo $$ >&3; \
                       while :; do :; done";
        let output = check_cancelled(&stage, command, 1).await;
        assert!(output.text.starts_with("cleaned\n"), "{}", output.text);
    }
}

#[tokio::test]
async fn cancelling_stops_a_flood() {
    for stage in stages() {
        check_cancelled(
            &stage,
            "exec 3>witness; echo $$ >&3; trap '' TERM; yes; yes",
            1,
        )
        .await;
    }
}

#[tokio::test]
async fn timing_out_kills_the_tree() {
    for stage in stages() {
        let mut witness = stage.witness("witness");
        // The clock may run out before the processes are there, so nothing is counted.
        let arguments = json!({"command": STUBBORN, "timeoutMs": 300});
        let running = stage.run(NativeTool::Bash, arguments);
        let (ended, first) = tokio::join!(running, witness.pid());
        assert!(matches!(ended, ToolResult::TimedOut(_)), "{ended:?}");
        check_all_gone(&mut witness, &[first]).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn leaving_the_group_or_the_session_is_no_escape() {
    let [stage, _] = stages();
    check_cancelled(&stage, ESCAPED, 3).await;
}

#[tokio::test]
async fn a_stopped_supervisor_still_ends_the_tree() {
    let [stage, _] = stages();
    let command = "exec 3>witness; kill -STOP $PPID; trap '' TERM; echo $$ >&3
        while :; do sleep 1000; done";
    check_cancelled(&stage, command, 1).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn many_escaped_processes_are_all_killed() {
    let [stage, _] = stages();
    let command = "exec 3>witness
        for i in {1..40}; do (setsid bash -c 'echo $$ >&3; trap \"\" TERM; while :; do sleep 1000; done' &); done
        sleep 1000";
    check_cancelled(&stage, command, 40).await;
}

#[tokio::test]
async fn a_background_process_does_not_outlive_the_answer() {
    let commands = [
        "exec 3>witness; sleep 1000 & echo $! >&3; echo hi",
        "exec 3>witness; nohup sleep 1000 >/dev/null 2>&1 & echo $! >witness; echo hi",
        "exec 3>witness; (trap '' TERM; echo $BASHPID >&3; while :; do sleep 1000; done) & echo hi",
    ];
    for command in commands {
        for stage in stages() {
            let mut witness = stage.witness("witness");
            let running = stage.completed(NativeTool::Bash, json!({"command": command}));
            let (output, pid) = tokio::join!(running, witness.pid());
            assert!(
                output.text.starts_with("hi\n[exit code 0 "),
                "{}",
                output.text
            );
            let note = "processes still running in the background when the shell exited";
            assert!(output.text.contains(note), "{}", output.text);
            assert!(!output.is_error);
            check_all_gone(&mut witness, &[pid]).await;
        }
    }
}

#[tokio::test]
async fn dropping_the_call_kills_the_tree() {
    for stage in stages() {
        let mut witness = stage.witness("witness");
        let arguments = json!({"command": STUBBORN});
        let pids = tokio::select! {
            pids = pids(&mut witness, 3) => pids,
            ended = stage.run(NativeTool::Bash, arguments) => panic!("{ended:?}"),
        };
        all_end(&mut witness, &pids).await;
    }
}

#[tokio::test]
async fn killing_the_supervisor_does_not_free_the_shell() {
    let [stage, _] = stages();
    let mut witness = stage.witness("witness");
    let command = "exec 3>witness; echo $$ >&3; kill -9 $PPID; sleep 1000";
    let running = stage.completed(NativeTool::Bash, json!({"command": command}));
    let (output, pid) = tokio::join!(running, witness.pid());
    assert!(
        output.is_error && output.text.contains("watches over the shell"),
        "{}",
        output.text
    );
    all_end(&mut witness, &[pid]).await;
}

/// The environment variable that makes this test binary a host to be killed: the FIFO.
const HOST_WITNESS: &str = "TEST_HOST_WITNESS";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_when_the_host_is_killed() {
    let stage = Stage::new();
    for command in [STUBBORN, ESCAPED] {
        let fifo = stage.fifo(&format!("witness{}", command.len()));
        let mut witness = Witness::new(fifo.clone());
        let mut host = Command::new(env::current_exe().unwrap())
            .args(["--exact", "processes::stands_in_for_a_host"])
            .env(HOST_WITNESS, &fifo)
            .env("TEST_HOST_COMMAND", command)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pids = pids(&mut witness, 3).await;
        host.kill().unwrap();
        host.wait().unwrap();
        all_end(&mut witness, &pids).await;
    }
}

/// Runs a command as a host would, in a process that the test above kills. Alone it does
/// nothing.
#[tokio::test]
async fn stands_in_for_a_host() {
    let Some(fifo) = env::var_os(HOST_WITNESS) else {
        return;
    };
    let stage = Stage::new().with_grace(Duration::from_millis(50));
    stage.link("witness", fifo);
    let command = env::var("TEST_HOST_COMMAND").unwrap();
    let ended = stage
        .run(NativeTool::Bash, json!({"command": command}))
        .await;
    panic!("the host should have been killed before {ended:?}");
}
