//! Durable calls beside one connection that commits each append.

use damper_journal::{Journal, bare_appends, journalled_calls};

use crate::{
    Scale,
    report::{Line, Target, Unit},
    sample::Samples,
};

/// Sessions that call at once.
const SESSIONS: usize = 16;

/// Journals the records of calls from many sessions at once.
pub(crate) async fn durable(scale: Scale) -> anyhow::Result<Vec<Line>> {
    let folder = tempfile::tempdir()?;
    let journal = Journal::open(&folder.path().join("journal.db"))?;
    let (mut ours, mut bare) = (Samples::default(), Samples::default());
    for slice in 0..scale.of(20, 3) {
        let throughput = journalled_calls(&journal, SESSIONS, scale.of(40, 4)).await?;
        ours.push_number(throughput.per_second());
        let path = folder.path().join(format!("bare-{slice}.db"));
        let throughput = bare_appends(&path, scale.of(40, 8))?;
        bare.push_number(throughput.per_second());
    }
    Ok(vec![
        Line::of(
            "durable",
            "records a second, calls with effect `once`, 16 sessions at once",
            Unit::PerSecond,
            &ours,
        )
        .beside(
            "SQLite, one connection, each append committed at synchronous=FULL",
            &bare,
        )
        .reach(Target::AtLeastTimes(5.0)),
    ])
}
