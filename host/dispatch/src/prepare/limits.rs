//! Which limit counts: the row's; else the manifest's, bounded; else the default.

use damper_profile::Row;
use damper_wasm::{AskedLimits, Ceilings, Limits};

/// The longest arguments that a call can carry, in bytes.
const MAX_ARGUMENTS: u64 = 1 << 20;

/// Returns the limits of a row's plugin, or which one cannot be had.
pub(crate) fn resolve(
    row: &Row,
    asked: &AskedLimits,
    defaults: &Limits,
    ceilings: &Ceilings,
) -> Result<Limits, String> {
    let own = &row.limits;
    let without_row = asked.bounded(defaults);
    let limits = Limits {
        memory: own.memory.unwrap_or(without_row.memory),
        guest_time: own.guest_time.unwrap_or(without_row.guest_time),
        wall_time: own.wall_time.unwrap_or(without_row.wall_time),
        answer: own.answer.unwrap_or(without_row.answer),
        log: own.log.unwrap_or(without_row.log),
        host_calls: own.host_calls.unwrap_or(without_row.host_calls),
        arguments: own.arguments.unwrap_or(without_row.arguments),
        state: own.state.unwrap_or(without_row.state),
    };
    if limits.memory > ceilings.memory {
        let position = row.origins.nearest("/limits/memory");
        return Err(format!(
            "{position}: a memory limit of {} bytes is above the host's ceiling of {} bytes",
            limits.memory, ceilings.memory
        ));
    }
    if limits.arguments > MAX_ARGUMENTS {
        let position = row.origins.nearest("/limits/arguments");
        return Err(format!(
            "{position}: an arguments limit of {} bytes is above what a call can carry, {MAX_ARGUMENTS} bytes",
            limits.arguments
        ));
    }
    Ok(limits)
}
