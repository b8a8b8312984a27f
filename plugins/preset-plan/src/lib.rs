//! The mode `plan`: an agent that looks, and proposes what to do.

use damper_guest::{CannotRun, Composition, Description, NoConfig, Preset, Session, export_preset};

const PERSONA: &str = include_str!("../texts/persona.md");

/// All tools of the mode. A list of what is there rather than of what is not: a tool that
/// comes later stays out until somebody has looked at it. None changes anything but the
/// session's own notes.
pub const TOOLS: [&str; 18] = [
    "read",
    "grep",
    "glob",
    "file_info",
    "read_image",
    "web_search",
    "web_fetch",
    "job_list",
    "job_output",
    "list_agents",
    "todo_write",
    "create_goal",
    "get_goal",
    "update_goal",
    "ask_user_question",
    "exit_plan_mode",
    "present",
    "skill",
];

/// The preset of an agent that plans.
#[derive(Debug, Clone)]
pub struct Plan;

impl Preset for Plan {
    const ID: &'static str = "damper/preset-plan";

    type Config = NoConfig;

    fn new(_: NoConfig) -> Self {
        Self
    }

    fn describe(&self) -> Description {
        Description {
            name: "Plan".to_owned(),
            description: "Looks around and proposes a plan; changes nothing.".to_owned(),
            order: 20,
        }
    }

    fn compose(&self, _: &Session) -> Result<Composition, CannotRun> {
        Ok(Composition::solo().only(TOOLS).section("persona", PERSONA))
    }
}

export_preset!(Plan);

#[cfg(test)]
mod tests {
    use damper_guest::{Composition, Preset as _, Session, ToolFilter};

    use super::Plan;

    fn plan() -> Composition {
        Plan.compose(&Session::new()).expect("it runs")
    }

    #[test]
    fn has_nothing_that_changes_anything() {
        let ToolFilter::Only(tools) = plan().tools else {
            unreachable!("{:?}", plan().tools);
        };
        for looking in ["read", "grep", "glob", "file_info", "exit_plan_mode"] {
            assert!(tools.iter().any(|tool| tool == looking), "no {looking}");
        }
        let changing = [
            "bash",
            "write",
            "edit",
            "run_code",
            "job_kill",
            "workflow",
            "send_message",
            "interrupt_agent",
            "subagent",
        ];
        for tool in changing {
            assert!(!tools.iter().any(|listed| listed == tool), "{tool}");
        }
    }

    #[test]
    fn explores_then_proposes_and_never_edits() {
        let plan = plan();
        assert!(!plan.coordinates);
        let persona = &plan.sections[0].text;
        let place = |words: &str| persona.find(words).expect(words);
        assert!(place("First explore") < place("Then propose a plan"));
        assert!(place("Then propose a plan") < place("Never edit"));
    }
}
