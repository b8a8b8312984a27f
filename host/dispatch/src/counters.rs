//! What each row did since the host started.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use damper_call::VerdictKind;
use damper_wasm::GuestFailure;

/// Counts of one row, kept across edits and swaps.
#[derive(Debug, Default)]
pub struct RowCounters {
    calls: AtomicU64,
    allow: AtomicU64,
    ask: AtomicU64,
    deny: AtomicU64,
    micros: AtomicU64,
    memory_high_water: AtomicU64,
    /// Written by the calls in flight, read by status.
    failures: Mutex<BTreeMap<&'static str, u64>>,
}

/// The counts at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counted {
    /// Times the row was asked.
    pub calls: u64,
    /// Verdicts: allow.
    pub allow: u64,
    /// Verdicts: ask, failures that count as one included.
    pub ask: u64,
    /// Verdicts: deny, failures that count as one included.
    pub deny: u64,
    /// Time spent, in microseconds.
    pub micros: u64,
    /// The most linear memory one call used, in bytes.
    pub memory_high_water: u64,
    /// Failures by kind.
    pub failures: BTreeMap<&'static str, u64>,
}

impl RowCounters {
    pub(crate) fn asked(&self, micros: u64, memory: u64) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        self.memory_high_water.fetch_max(memory, Ordering::Relaxed);
    }

    pub(crate) fn voted(&self, verdict: VerdictKind) {
        let counter = match verdict {
            VerdictKind::Allow => &self.allow,
            VerdictKind::Ask => &self.ask,
            VerdictKind::Deny => &self.deny,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, failure: &GuestFailure) {
        *self
            .failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(failure.kind())
            .or_default() += 1;
    }

    /// Returns the counts.
    pub fn counted(&self) -> Counted {
        Counted {
            calls: self.calls.load(Ordering::Relaxed),
            allow: self.allow.load(Ordering::Relaxed),
            ask: self.ask.load(Ordering::Relaxed),
            deny: self.deny.load(Ordering::Relaxed),
            micros: self.micros.load(Ordering::Relaxed),
            memory_high_water: self.memory_high_water.load(Ordering::Relaxed),
            failures: self
                .failures
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }
}
