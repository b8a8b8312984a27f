//! What a guest may use, and the names of those limits in every message.

use std::{fmt, time::Duration};

/// What one call of a guest may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory, all memories of the instance together.
    pub memory: u64,
    /// Time spent in guest code.
    pub guest_time: Duration,
    /// Time from start to answer, host calls included.
    pub wall_time: Duration,
    /// Bytes of the answer, and of the arguments of one host call.
    pub answer: u64,
    /// Bytes that the guest may write to its log.
    pub log: u64,
    /// Calls from the guest to the host.
    pub host_calls: u64,
    /// Bytes of the arguments that the guest is handed.
    pub arguments: u64,
    /// Bytes of all keys and values that it keeps for one session.
    pub state: u64,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

impl Limits {
    /// The limits of a guard and of every hook but a tool, where a row says nothing.
    ///
    /// Memory fits a JavaScript engine and a parse of the largest arguments; 100 ms is what
    /// people begin to notice.
    pub const HOOK: Self = Self {
        memory: 64 * MIB,
        guest_time: Duration::from_millis(100),
        wall_time: Duration::from_secs(2),
        answer: 256 * KIB,
        log: 64 * KIB,
        host_calls: 1_000,
        arguments: MIB,
        state: MIB,
    };

    /// The limits of a tool, where a row says nothing.
    pub const TOOL: Self = Self {
        guest_time: Duration::from_secs(10),
        wall_time: Duration::from_secs(60),
        ..Self::HOOK
    };
}

/// What the engine fixes when it starts; no row can go above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceilings {
    /// Bytes of linear memory of one instance.
    pub memory: u64,
    /// Guest calls that run at once.
    pub calls: u32,
    /// Guest calls that wait for a place.
    pub queue: u32,
    /// How long a guest call waits for a place.
    pub queue_time: Duration,
}

impl Default for Ceilings {
    /// 256 MiB a call, 64 calls at once, 256 more waiting for at most 500 ms.
    fn default() -> Self {
        Self {
            memory: 256 * MIB,
            calls: 64,
            queue: 256,
            queue_time: Duration::from_millis(500),
        }
    }
}

/// The name of a limit, as a profile writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitKey {
    /// `limits.memory`
    Memory,
    /// `limits.guest_time`
    GuestTime,
    /// `limits.wall_time`
    WallTime,
    /// `limits.answer`
    Answer,
    /// `limits.log`
    Log,
    /// `limits.host_calls`
    HostCalls,
    /// `limits.arguments`
    Arguments,
    /// `limits.state`
    State,
    /// Elements of all tables together, which no row can raise.
    TableElements,
    /// Instances of the engine in use at once, which no row can raise.
    Calls,
}

impl LimitKey {
    /// Returns the key under `limits` that raises it, if a row can.
    pub const fn row_key(self) -> Option<&'static str> {
        match self {
            Self::Memory => Some("memory"),
            Self::GuestTime => Some("guest_time"),
            Self::WallTime => Some("wall_time"),
            Self::Answer => Some("answer"),
            Self::Log => Some("log"),
            Self::HostCalls => Some("host_calls"),
            Self::Arguments => Some("arguments"),
            Self::State => Some("state"),
            Self::TableElements | Self::Calls => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::GuestTime => "guest time",
            Self::WallTime => "wall time",
            Self::Answer => "answer size",
            Self::Log => "log size",
            Self::HostCalls => "host call",
            Self::Arguments => "argument size",
            Self::State => "state size",
            Self::TableElements => "table element",
            Self::Calls => "calls at once",
        }
    }
}

/// A limit that a guest ran into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitHit {
    /// Which limit.
    pub key: LimitKey,
    /// Its value, with its unit.
    pub value: String,
}

impl LimitHit {
    pub(crate) fn bytes(key: LimitKey, bytes: u64) -> Self {
        Self {
            key,
            value: show_bytes(bytes),
        }
    }

    pub(crate) fn time(key: LimitKey, time: Duration) -> Self {
        Self {
            key,
            value: show_time(time),
        }
    }

    pub(crate) fn count(key: LimitKey, count: u64) -> Self {
        Self {
            key,
            value: count.to_string(),
        }
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hit the {} limit of {}", self.key.name(), self.value)?;
        match self.key.row_key() {
            Some(key) => write!(f, " (raise `limits.{key}` in its row)"),
            None => write!(f, " (fixed by the host)"),
        }
    }
}

impl std::error::Error for LimitHit {}

fn show_bytes(bytes: u64) -> String {
    match bytes {
        0 => "0 bytes".to_owned(),
        _ if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("{} KiB", bytes / KIB),
        _ => format!("{bytes} bytes"),
    }
}

fn show_time(time: Duration) -> String {
    if time.subsec_millis() == 0 && time.as_secs() > 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{} ms", time.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_limit_its_value_and_how_to_raise_it() {
        let table = [
            (
                LimitHit::bytes(LimitKey::Memory, 64 * MIB),
                "hit the memory limit of 64 MiB (raise `limits.memory` in its row)",
            ),
            (
                LimitHit::time(LimitKey::GuestTime, Duration::from_millis(100)),
                "hit the guest time limit of 100 ms (raise `limits.guest_time` in its row)",
            ),
            (
                LimitHit::time(LimitKey::WallTime, Duration::from_secs(2)),
                "hit the wall time limit of 2 s (raise `limits.wall_time` in its row)",
            ),
            (
                LimitHit::count(LimitKey::Calls, 64),
                "hit the calls at once limit of 64 (fixed by the host)",
            ),
        ];
        for (hit, expected) in table {
            assert_eq!(hit.to_string(), expected);
        }
    }
}
