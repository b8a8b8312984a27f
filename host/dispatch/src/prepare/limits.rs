//! Which limit counts: the row's; else the manifest's, bounded; else the default.

use std::time::Duration;

use damper_profile::{Row, parse_size, parse_time};
use damper_wasm::{Ceilings, Limits, Plugin};
use serde_json::Value;

/// The most that a manifest can ask for itself; a row may give more.
const MANIFEST_MOST: Limits = Limits {
    memory: 256 << 20,
    guest_time: Duration::from_secs(60),
    wall_time: Duration::from_secs(120),
    answer: 1 << 20,
    log: 1 << 20,
    host_calls: 100_000,
    arguments: 4 << 20,
};

/// Returns the limits of a row's plugin, or which one cannot be had.
pub(crate) fn resolve(
    row: &Row,
    plugin: &Plugin,
    defaults: &Limits,
    ceilings: &Ceilings,
) -> Result<Limits, String> {
    let asked = Asked { plugin };
    let own = &row.limits;
    let limits = Limits {
        memory: own.memory.map_or_else(
            || asked.size("memory", MANIFEST_MOST.memory, defaults.memory),
            Ok,
        )?,
        guest_time: own.guest_time.map_or_else(
            || asked.time("guest_time", MANIFEST_MOST.guest_time, defaults.guest_time),
            Ok,
        )?,
        wall_time: own.wall_time.map_or_else(
            || asked.time("wall_time", MANIFEST_MOST.wall_time, defaults.wall_time),
            Ok,
        )?,
        answer: own.answer.map_or_else(
            || asked.size("answer", MANIFEST_MOST.answer, defaults.answer),
            Ok,
        )?,
        log: own
            .log
            .map_or_else(|| asked.size("log", MANIFEST_MOST.log, defaults.log), Ok)?,
        host_calls: own.host_calls.map_or_else(
            || asked.count("host_calls", MANIFEST_MOST.host_calls, defaults.host_calls),
            Ok,
        )?,
        arguments: own.arguments.map_or_else(
            || asked.size("arguments", MANIFEST_MOST.arguments, defaults.arguments),
            Ok,
        )?,
    };
    if limits.memory > ceilings.memory {
        let position = row.origins.nearest("/limits/memory");
        return Err(format!(
            "{position}: a memory limit of {} bytes is above the host's ceiling of {} bytes",
            limits.memory, ceilings.memory
        ));
    }
    Ok(limits)
}

/// What the manifest asks for.
struct Asked<'a> {
    plugin: &'a Plugin,
}

impl Asked<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.plugin.manifest.limits.get(key)
    }

    fn wrong(&self, key: &str, value: &Value) -> String {
        format!(
            "the manifest of `{}` has `limits.{key}: {value}`, which is no such limit",
            self.plugin.manifest.id
        )
    }

    fn size(&self, key: &str, most: u64, default: u64) -> Result<u64, String> {
        let Some(value) = self.value(key) else {
            return Ok(default);
        };
        let size = match value {
            Value::String(text) => parse_size(text).ok(),
            Value::Number(number) => number.as_u64(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        size.map(|size| size.min(most))
            .ok_or_else(|| self.wrong(key, value))
    }

    fn count(&self, key: &str, most: u64, default: u64) -> Result<u64, String> {
        let Some(value) = self.value(key) else {
            return Ok(default);
        };
        value
            .as_u64()
            .map(|count| count.min(most))
            .ok_or_else(|| self.wrong(key, value))
    }

    fn time(&self, key: &str, most: Duration, default: Duration) -> Result<Duration, String> {
        let Some(value) = self.value(key) else {
            return Ok(default);
        };
        let time = value.as_str().and_then(|text| parse_time(text).ok());
        time.map(|time| time.min(most))
            .ok_or_else(|| self.wrong(key, value))
    }
}
