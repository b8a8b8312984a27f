//! The mode `multitask`: a coordinator that plans and checks, and four kinds of workers.
//!
//! The session of the coordinator has all tools, because workers are composed of the same set;
//! the plugin `damper/coordinator-guard` takes from it what is not on its keep list. What a
//! worker is told in full comes from `damper/worker-persona`; here each kind has a short
//! persona that holds where that plugin does not run.
//!
//! A kind's filter is of the tools that the worker can reach. One that works by programs reaches
//! them from its programs: that it calls none but `run_code` directly follows from its context.

mod config;
mod kinds;

use damper_guest::{CannotRun, Composition, Description, Preset, Session, export_preset};

pub use config::{Config, SubagentModel};

const PERSONA: &str = include_str!("../texts/coordinator.md");

/// What the coordinator keeps besides the tools that hand out work: to read, to look after
/// workers and jobs, to talk to people, and to keep track.
const KEEP: [&str; 19] = [
    "read",
    "grep",
    "glob",
    "file_info",
    "send_message",
    "interrupt_agent",
    "list_agents",
    "job_list",
    "job_output",
    "job_kill",
    "workflow",
    "ask_user_question",
    "todo_write",
    "create_goal",
    "get_goal",
    "update_goal",
    "exit_plan_mode",
    "present",
    "skill",
];

/// The preset of a coordinator with workers.
#[derive(Debug, Clone)]
pub struct Multitask {
    config: Config,
}

impl Preset for Multitask {
    const ID: &'static str = "damper/preset-multitask";

    type Config = Config;

    fn new(config: Config) -> Self {
        Self { config }
    }

    fn describe(&self) -> Description {
        Description {
            name: "Multitask".to_owned(),
            description: "One agent plans, briefs and checks; workers do the work in parallel."
                .to_owned(),
            order: 30,
        }
    }

    fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
        let kinds = kinds::all(&self.config);
        let names = kinds.iter().map(|kind| kind.name.clone());
        let coordinator = Composition::coordinator()
            .keep(KEEP)
            .keep(names)
            .keep([kinds::DISPATCH_TO_A_MODE])
            .section("persona", format!("{PERSONA}\n{}", kinds::choosing(&kinds)));
        Ok(kinds.into_iter().fold(coordinator, Composition::kind))
    }
}

export_preset!(Multitask);
