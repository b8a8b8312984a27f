//! Which limit counts: the row's; else the manifest's, bounded; else the default.

use std::time::Duration;

use damper_profile::Row;
use damper_wasm::{AskedLimits, Ceilings, Limits};

/// The most that a manifest can ask for itself; a row may give more.
const MANIFEST_MOST: Limits = Limits {
    memory: 256 << 20,
    guest_time: Duration::from_secs(60),
    wall_time: Duration::from_secs(120),
    answer: 1 << 20,
    log: 1 << 20,
    host_calls: 100_000,
    arguments: 1 << 20,
    state: 16 << 20,
};

/// Returns the limits of a row's plugin, or which one cannot be had.
pub(crate) fn resolve(
    row: &Row,
    asked: &AskedLimits,
    defaults: &Limits,
    ceilings: &Ceilings,
) -> Result<Limits, String> {
    let own = &row.limits;
    let limits = Limits {
        memory: pick(
            own.memory,
            asked.memory_bytes,
            MANIFEST_MOST.memory,
            defaults.memory,
        ),
        guest_time: pick(
            own.guest_time,
            millis(asked.guest_time_ms),
            MANIFEST_MOST.guest_time,
            defaults.guest_time,
        ),
        wall_time: pick(
            own.wall_time,
            millis(asked.wall_time_ms),
            MANIFEST_MOST.wall_time,
            defaults.wall_time,
        ),
        answer: pick(
            own.answer,
            asked.answer_bytes,
            MANIFEST_MOST.answer,
            defaults.answer,
        ),
        log: pick(own.log, asked.log_bytes, MANIFEST_MOST.log, defaults.log),
        host_calls: pick(
            own.host_calls,
            asked.host_calls,
            MANIFEST_MOST.host_calls,
            defaults.host_calls,
        ),
        arguments: pick(
            own.arguments,
            None,
            MANIFEST_MOST.arguments,
            defaults.arguments,
        ),
        state: pick(
            own.state,
            asked.state_bytes,
            MANIFEST_MOST.state,
            defaults.state,
        ),
    };
    if limits.memory > ceilings.memory {
        let position = row.origins.nearest("/limits/memory");
        return Err(format!(
            "{position}: a memory limit of {} bytes is above the host's ceiling of {} bytes",
            limits.memory, ceilings.memory
        ));
    }
    if limits.arguments > MANIFEST_MOST.arguments {
        let position = row.origins.nearest("/limits/arguments");
        return Err(format!(
            "{position}: an arguments limit of {} bytes is above what a call can carry, {} bytes",
            limits.arguments, MANIFEST_MOST.arguments
        ));
    }
    Ok(limits)
}

fn pick<T: Ord>(row: Option<T>, asked: Option<T>, most: T, default: T) -> T {
    row.or_else(|| asked.map(|asked| asked.min(most)))
        .unwrap_or(default)
}

fn millis(millis: Option<u64>) -> Option<Duration> {
    millis.map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn the_row_wins_then_the_manifest_within_bounds_then_the_default() {
        let table = [
            (Some(9), Some(5), 9),
            (Some(1), None, 1),
            (None, Some(5), 5),
            (None, Some(99), 7),
            (None, None, 3),
        ];
        for (row, asked, expected) in table {
            assert_eq!(pick(row, asked, 7, 3), expected, "{row:?} {asked:?}");
        }
    }
}
