//! What was measured: samples and the numbers made of them.

use std::time::{Duration, Instant};

/// Samples of one thing, in the order they were taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Adds a time, in microseconds.
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64() * 1e6);
    }

    /// Adds a number of any unit.
    pub(crate) fn push_number(&mut self, number: f64) {
        self.0.push(number);
    }

    /// Times `work` and adds it.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let value = work();
        self.push(start.elapsed());
        value
    }

    /// Times a future and adds it.
    pub(crate) async fn time_async<T>(&mut self, work: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let value = work.await;
        self.push(start.elapsed());
        value
    }

    /// Returns each sample less `amount`.
    pub(crate) fn less(&self, amount: Duration) -> Self {
        let amount = amount.as_secs_f64() * 1e6;
        Self(self.0.iter().map(|sample| sample - amount).collect())
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the sample below which `part` of all lie.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into samples that were just counted"
        )]
        let index = (last as f64 * part).round() as usize;
        sorted.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.quantile(0.99)
    }
}
