//! Sizes and times as people write them: `64MiB`, `100ms`.

use std::time::Duration;

const SIZE_UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

const TIME_UNITS_MS: [(&str, u64); 3] = [("ms", 1), ("s", 1_000), ("m", 60_000)];

/// Returns the bytes of `64MiB`, `256KiB`, `1GiB` or `4096`, or what to write instead.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let (digits, unit) = split(text);
    let unit = if unit.is_empty() { "B" } else { unit };
    let known = SIZE_UNITS.iter().find(|(name, _)| *name == unit);
    known
        .zip(digits.parse::<u64>().ok())
        .and_then(|((_, factor), number)| number.checked_mul(*factor))
        .ok_or_else(|| "write a size such as 64MiB, 256KiB or a number of bytes".to_owned())
}

/// Returns the time of `100ms`, `2s` or `1m`, or what to write instead.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (digits, unit) = split(text);
    let known = TIME_UNITS_MS.iter().find(|(name, _)| *name == unit);
    known
        .zip(digits.parse::<u64>().ok())
        .and_then(|((_, factor), number)| number.checked_mul(*factor))
        .map(Duration::from_millis)
        .ok_or_else(|| "write a time with its unit, such as 100ms, 2s or 1m".to_owned())
}

/// Returns a size in the largest unit that holds it exactly.
pub fn format_size(bytes: u64) -> String {
    SIZE_UNITS
        .iter()
        .find(|(_, factor)| bytes != 0 && bytes.is_multiple_of(*factor))
        .filter(|(name, _)| *name != "B")
        .map_or(bytes.to_string(), |(name, factor)| {
            format!("{}{name}", bytes / factor)
        })
}

/// Returns a time in seconds if it is whole, else in milliseconds.
pub fn format_time(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{}s", time.as_secs())
    } else {
        format!("{}ms", time.as_millis())
    }
}

fn split(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    (digits, unit.trim_start_matches(' '))
}
