//! Whose session it is: the one question that comes before all others.

use damper_guest::{ModeBinding, Session};

/// Whether a session is one that the guard narrows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The main session of one of the guard's modes.
    Ours,
    /// A session without a mode or of another one.
    OtherMode,
    /// A session that another one has opened. Its own mode narrows it.
    Child,
    /// Nothing tells which mode it has.
    Unknown,
}

/// Tells whether a session is narrowed by a guard of these modes.
///
/// The live binding decides. Only while it is unknown the recorded mode does, so that a
/// record never overrules a binding that names another mode, or none.
pub fn is_ours(modes: &[String], session: &Session) -> Ownership {
    if is_child(session) {
        return Ownership::Child;
    }
    let is_one_of_them = |id: &String| match modes.contains(id) {
        true => Ownership::Ours,
        false => Ownership::OtherMode,
    };
    match session.mode() {
        ModeBinding::Bound(id) => is_one_of_them(&id),
        ModeBinding::None => Ownership::OtherMode,
        ModeBinding::Unknown => session
            .recorded_mode()
            .as_ref()
            .map_or(Ownership::Unknown, is_one_of_them),
    }
}

/// Any one fact is enough: a worker that lost its tools to this guard could not work.
fn is_child(session: &Session) -> bool {
    session.role() == "worker" || session.parent().is_some() || session.depth() > 0
}

#[cfg(test)]
mod tests {
    use damper_guest::{ModeBinding, Session, SessionFacts};

    use super::{Ownership, is_ours};

    const NOT_A_CHILD: fn(&mut SessionFacts) = |_| {};
    const CHILD_BY: [fn(&mut SessionFacts); 3] = [
        |facts| "worker".clone_into(&mut facts.role),
        |facts| facts.parent = Some("session-0".to_owned()),
        |facts| facts.depth = 1,
    ];

    fn ask(live: &ModeBinding, recorded: Option<&str>, child: fn(&mut SessionFacts)) -> Ownership {
        let session = Session::new().with(|facts| {
            facts.mode = live.clone();
            facts.recorded_mode = recorded.map(str::to_owned);
            child(facts);
        });
        is_ours(&["multitask".to_owned(), "lead".to_owned()], &session)
    }

    #[test]
    fn the_live_binding_decides_and_the_record_stands_in_for_it() {
        use Ownership::{OtherMode, Ours, Unknown};
        let bound = |id: &str| ModeBinding::Bound(id.to_owned());
        let (ours, too) = (Some("multitask"), Some("lead"));
        // Recorded:                        none       ours       another of ours  foreign
        let table = [
            (bound("multitask"), [Ours, Ours, Ours, Ours]),
            (bound("lead"), [Ours, Ours, Ours, Ours]),
            (bound("solo"), [OtherMode, OtherMode, OtherMode, OtherMode]),
            (
                ModeBinding::None,
                [OtherMode, OtherMode, OtherMode, OtherMode],
            ),
            (ModeBinding::Unknown, [Unknown, Ours, Ours, OtherMode]),
        ];
        for (live, expected) in table {
            let answers =
                [None, ours, too, Some("solo")].map(|recorded| ask(&live, recorded, NOT_A_CHILD));
            assert_eq!(answers, expected, "{live:?}");
            for recorded in [None, ours, too, Some("solo")] {
                for child in CHILD_BY {
                    let answer = ask(&live, recorded, child);
                    assert_eq!(answer, Ownership::Child, "{live:?} {recorded:?}");
                }
            }
        }
    }
}
