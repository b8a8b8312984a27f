//! The kinds of workers.

use std::fmt::Write as _;

use damper_guest::{ContextSource, WorkerKind};

use crate::Config;

/// The tool that hands work to a session of another mode.
pub(crate) const DISPATCH_TO_A_MODE: &str = "subagent_preset";

/// The tools that hand out work, which no worker has: the depth is one.
const DELEGATION: [&str; 5] = [
    "subagent",
    "subagent_fork",
    "subagent_ptc",
    "subagent_minimal",
    DISPATCH_TO_A_MODE,
];

/// All that an investigator has. None changes anything but its own notes.
const INVESTIGATION: [&str; 10] = [
    "read",
    "grep",
    "glob",
    "read_image",
    "file_info",
    "web_search",
    "web_fetch",
    "skill",
    "todo_write",
    "present",
];

/// Returns the kinds that the settings leave, with their models.
pub(crate) fn all(config: &Config) -> Vec<WorkerKind> {
    let mut kinds = vec![subagent(), fork()];
    if config.multi_mode {
        kinds.extend([program(), minimal()]);
    }
    for kind in &mut kinds {
        kind.model = config.model(&kind.name);
    }
    kinds
}

fn subagent() -> WorkerKind {
    WorkerKind::new(
        "subagent",
        "Executes one piece of work from its brief alone, with all tools. Take this one unless \
         another fits better.",
    )
    .all_but(DELEGATION)
    .context(ContextSource::Fresh)
    .persona("You execute the work of your brief with your own tools, and report what you did.")
}

fn fork() -> WorkerKind {
    WorkerKind::new(
        "subagent_fork",
        "Knows all completed turns of this conversation besides its brief, and has all tools. For \
         work whose background would be longer than the brief. What is said in the turn that \
         dispatches it must stand in the brief.",
    )
    .all_but(DELEGATION)
    .context(ContextSource::Fork)
    .persona(
        "You execute the work of your brief with your own tools, and report what you did. The turns \
         before it are the coordinator's, not yours.",
    )
}

fn program() -> WorkerKind {
    WorkerKind::new(
        "subagent_ptc",
        "Works by writing programs that call the tools. For many similar steps, and for results \
         that are counted, filtered or compared.",
    )
    .all_but(DELEGATION)
    .context(ContextSource::Program)
    .persona("You do the work of your brief by programs, and report compact results.")
}

fn minimal() -> WorkerKind {
    WorkerKind::new(
        "subagent_minimal",
        "Investigates: reads, searches, looks things up on the web, and can change nothing. For \
         questions, and where a change would do harm.",
    )
    .only(INVESTIGATION)
    .context(ContextSource::Fresh)
    .persona("You find out what your brief asks, change nothing, and report what you found.")
}

/// Returns the part of the coordinator's persona that says which kind to choose.
pub(crate) fn choosing(kinds: &[WorkerKind]) -> String {
    let mut text = "## Choosing a worker\n\n".to_owned();
    for kind in kinds {
        writeln!(text, "- `{}`: {}", kind.name, kind.description).expect("a string takes any text");
    }
    text
}
