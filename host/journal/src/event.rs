//! The kinds of events. A kind's name and its fields' names are what is stored: they never
//! change their meaning, and a field added later has a default.

mod payload;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};
use serde_json::Value;

use damper_call::CallId;

pub use payload::{
    Answer, ApprovalAnswered, ApprovalRaised, CallDecided, CallFinished, CallReceived, CallStarted,
    Change, GuestFailed, HostStarted, HostStopped, MailRouted, Opinion, ProfileApplied, Reviewed,
    RowResult, SessionOpened, StateKept, ToolsWithheld,
};

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $kind:literal,)*) => {
        /// Something that happened.
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(from = "Tagged")]
        pub enum Event {
            $($(#[$doc])* $name($name),)*
            /// An event that this build cannot read, kept as it is.
            Other {
                /// The kind's name.
                kind: String,
                /// All that was stored.
                body: Value,
            },
        }

        $(impl From<$name> for Event {
            fn from(payload: $name) -> Self {
                Self::$name(payload)
            }
        })*

        impl Event {
            /// Returns the name under which the kind is stored.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$name(_) => $kind,)*
                    Self::Other { kind, .. } => kind,
                }
            }

            /// Returns the event of a stored kind and body, `Other` if this build cannot read it.
            pub fn from_stored(kind: String, body: Value) -> Self {
                match kind.as_str() {
                    $($kind => {
                        if let Ok(payload) = $name::deserialize(&body) {
                            return Self::$name(payload);
                        }
                    })*
                    _ => {}
                }
                Self::Other { kind, body }
            }

            /// Returns the JSON text that is stored beside the kind.
            pub(crate) fn body(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$name(payload) => serde_json::to_string(payload),)*
                    Self::Other { body, .. } => serde_json::to_string(body),
                }
            }
        }

        impl Serialize for Event {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut tagged = serializer.serialize_struct("Event", 2)?;
                tagged.serialize_field("kind", self.kind())?;
                match self {
                    $(Self::$name(payload) => tagged.serialize_field("body", payload)?,)*
                    Self::Other { body, .. } => tagged.serialize_field("body", body)?,
                }
                tagged.end()
            }
        }
    };
}

events! {
    /// A session came in.
    SessionOpened = "session/opened",
    /// A call arrived.
    CallReceived = "call/received",
    /// The guards have answered.
    CallDecided = "call/decided",
    /// The call's tool is about to run.
    CallStarted = "call/started",
    /// The call has its outcome.
    CallFinished = "call/finished",
    /// A person is asked.
    ApprovalRaised = "approval/raised",
    /// The question has its answer.
    ApprovalAnswered = "approval/answered",
    /// The host began to serve.
    HostStarted = "host/started",
    /// The host stopped serving of its own accord.
    HostStopped = "host/stopped",
    /// An edit of the profile was taken, wholly or in part.
    ProfileApplied = "profile/applied",
    /// A plugin's hook did not answer as it should.
    GuestFailed = "guest/failed",
    /// A plugin's hook kept something.
    StateKept = "state/kept",
    /// A plugin withholds other tools than before.
    ToolsWithheld = "tools/withheld",
    /// A plugin wants a message delivered otherwise.
    MailRouted = "mail/routed",
}

impl Event {
    /// Returns the call that the event is part of.
    pub fn call(&self) -> Option<&CallId> {
        match self {
            Self::CallReceived(event) => Some(&event.call),
            Self::CallDecided(event) => Some(&event.call),
            Self::CallStarted(event) => Some(&event.call),
            Self::CallFinished(event) => Some(&event.call),
            Self::ApprovalRaised(event) => Some(&event.call),
            Self::ApprovalAnswered(event) => Some(&event.call),
            Self::GuestFailed(event) => event.call.as_ref(),
            Self::StateKept(event) => event.call.as_ref(),
            Self::SessionOpened(_)
            | Self::HostStarted(_)
            | Self::HostStopped(_)
            | Self::ProfileApplied(_)
            | Self::ToolsWithheld(_)
            | Self::MailRouted(_)
            | Self::Other { .. } => None,
        }
    }
}

/// The form in which events leave the host as JSON.
#[derive(Deserialize)]
struct Tagged {
    kind: String,
    body: Value,
}

impl From<Tagged> for Event {
    fn from(tagged: Tagged) -> Self {
        Self::from_stored(tagged.kind, tagged.body)
    }
}

#[cfg(test)]
mod tests {
    use damper_call::{EffectClass, Ending};
    use serde_json::json;

    use super::*;

    fn check(event: impl Into<Event>, stored: Value) {
        let event = event.into();
        assert_eq!(serde_json::to_value(&event).unwrap(), stored);
        assert_eq!(serde_json::from_value::<Event>(stored).unwrap(), event);
    }

    #[test]
    fn stored_names_are_stable() {
        check(
            CallStarted {
                call: "c1".parse().unwrap(),
                effect: EffectClass::Once,
            },
            json!({"kind": "call/started", "body": {"call": "c1", "effect": "once"}}),
        );
        check(
            CallFinished {
                call: "c1".parse().unwrap(),
                ending: Ending::TimedOut,
                text: "late".to_owned(),
                structured: None,
                is_error: true,
                truncated: false,
                content: None,
                reviews: Vec::new(),
                micros: 7,
            },
            json!({"kind": "call/finished", "body": {
                "call": "c1", "ending": "timed-out", "text": "late", "is_error": true, "micros": 7,
            }}),
        );
        check(
            ApprovalAnswered {
                approval: "a1".parse().unwrap(),
                call: "c1".parse().unwrap(),
                answer: Answer::Denied,
                by: "ann".to_owned(),
                why: None,
            },
            json!({"kind": "approval/answered", "body": {
                "approval": "a1", "call": "c1", "answer": "denied", "by": "ann",
            }}),
        );
    }

    #[test]
    fn what_cannot_be_read_is_kept() {
        for stored in [
            json!({"kind": "call/replayed", "body": {"call": "c1", "of": 3}}),
            json!({"kind": "call/started", "body": {"call": "c1", "effect": "twice"}}),
        ] {
            let event: Event = serde_json::from_value(stored.clone()).unwrap();
            assert!(matches!(event, Event::Other { .. }));
            assert_eq!(serde_json::to_value(&event).unwrap(), stored);
        }
    }

    #[test]
    fn a_later_field_does_not_hide_the_ones_known_today() {
        let stored = json!({"call": "c1", "effect": "none", "lease": 4});
        let event = Event::from_stored("call/started".to_owned(), stored);
        assert!(matches!(event, Event::CallStarted(_)));
    }
}
