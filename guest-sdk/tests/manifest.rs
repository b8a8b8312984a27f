//! The manifest of a crate with several hooks.

use damper_guest::{
    Call, Disposition, FileGrants, Grants, Guard, JsonSchema, Limits, Outcome, Review, Verdict,
    export_plugin,
};
use serde_json::{Value, json};

/// The row's settings.
#[derive(damper_guest::Deserialize, JsonSchema)]
#[serde(crate = "damper_guest::serde", deny_unknown_fields)]
#[schemars(crate = "damper_guest::schemars")]
#[expect(dead_code, reason = "only its schema is tested")]
pub struct Settings {
    /// The words to look for.
    words: Vec<String>,
}

struct Before;

impl Guard for Before {
    const ID: &'static str = "test/both";
    const GRANTS: Grants = Grants {
        clock: true,
        http: &["api.example.com", "api.example.com:8443"],
        ..Grants::WORKSPACE_METADATA
    };
    const LIMITS: Limits = Limits {
        state_bytes: Some(10),
        guest_time_ms: Some(50),
        ..Limits::DEFAULT
    };
    type Config = Settings;

    fn new(_: Settings) -> Self {
        Self
    }

    fn check(&self, _: &Call) -> Verdict {
        Verdict::Allow
    }
}

struct After;

impl Review for After {
    const ID: &'static str = "test/both";
    const GRANTS: Grants = Grants {
        files: FileGrants {
            metadata: &["workspace", "/etc"],
            read: &["workspace"],
        },
        http: &["api.example.com"],
        random: true,
        sessions: true,
        roster: true,
        ..Grants::NONE
    };
    const LIMITS: Limits = Limits {
        state_bytes: Some(20),
        ..Limits::DEFAULT
    };
    type Config = Settings;

    fn new(_: Settings) -> Self {
        Self
    }

    fn review(&self, _: &Outcome) -> Disposition {
        Disposition::Keep
    }
}

export_plugin!(guard: Before, review: After);

#[test]
fn asks_for_what_all_parts_need() {
    let manifest: Value = serde_json::from_str(&manifest()).expect("it is JSON");
    assert_eq!(manifest["id"], "test/both");
    assert_eq!(manifest["api"], "1.0.0");
    assert_eq!(manifest["hooks"], json!(["guard", "result"]));
    assert_eq!(
        manifest["grants"],
        json!({
            "files": {"metadata": ["/etc", "workspace"], "read": ["workspace"]},
            "http": ["api.example.com", "api.example.com:8443"],
            "clock": true,
            "random": true,
            "sessions": true,
            "roster": true,
        })
    );
    assert_eq!(
        manifest["limits"],
        json!({"state_bytes": 20, "guest_time_ms": 50})
    );
    let words = &manifest["config_schema"]["properties"]["words"];
    assert_eq!(words["description"], "The words to look for.");
}

mod alone {
    use damper_guest::{NoConfig, Opening, Session, Welcome, export_welcome};

    struct Quiet;

    impl Welcome for Quiet {
        const ID: &'static str = "test/quiet";
        type Config = NoConfig;

        fn new(_: NoConfig) -> Self {
            Self
        }

        fn opened(&self, _: &Session) -> Opening {
            Opening::default()
        }
    }

    export_welcome!(Quiet);
}

#[test]
fn leaves_out_what_is_not_asked_for() {
    let manifest: Value = serde_json::from_str(&alone::manifest()).expect("it is JSON");
    assert_eq!(manifest["hooks"], json!(["session"]));
    assert_eq!(manifest["grants"], json!({}));
    assert_eq!(manifest["limits"], json!({}));
}
