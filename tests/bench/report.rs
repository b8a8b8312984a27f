//! The lines of the report, for people and for programs.

use serde::Serialize;

use crate::sample::Samples;

/// One line: a number of ours beside a bare one of the same run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    /// The row of `--row` that it belongs to.
    pub(crate) row: &'static str,
    /// What was measured.
    pub(crate) what: String,
    /// The unit of all its numbers.
    pub(crate) unit: Unit,
    /// How often.
    pub(crate) samples: usize,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// What it is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<Baseline>,
    /// What is to be reached, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// Whether it is; absent where there is no target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) met: Option<bool>,
    /// Why there are no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
}

/// What a line is held against.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Baseline {
    pub(crate) what: String,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// The quotient of the medians, the larger number above where more is worse.
    pub(crate) ratio: f64,
}

/// What the numbers of a line count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "us")]
    Micros,
    #[serde(rename = "KiB")]
    Kibibytes,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "count")]
    Count,
}

/// What has to be reached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// The median is at most so many times that of the baseline.
    TimesBaseline(f64),
    /// The baseline's median is at least so many times ours.
    BaselineTimes(f64),
    /// The median is at least so many times that of the baseline: more is better.
    AtLeastTimes(f64),
    /// The median is at most this.
    P50(f64),
    /// The 99th percentile is at most this.
    P99(f64),
}

impl Line {
    /// Returns a line of samples with nothing to hold them against.
    pub(crate) fn of(
        row: &'static str,
        what: impl Into<String>,
        unit: Unit,
        samples: &Samples,
    ) -> Self {
        Self {
            row,
            what: what.into(),
            unit,
            samples: samples.len(),
            p50: samples.p50(),
            p99: samples.p99(),
            baseline: None,
            target: None,
            met: None,
            skipped: None,
        }
    }

    /// Returns a line that says why there are no numbers.
    pub(crate) fn skipped(
        row: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            skipped: Some(why.into()),
            ..Self::of(row, what, Unit::Count, &Samples::default())
        }
    }

    /// Holds the line against the bare samples of the same run.
    pub(crate) fn beside(mut self, what: impl Into<String>, bare: &Samples) -> Self {
        self.baseline = Some(Baseline {
            what: what.into(),
            p50: bare.p50(),
            p99: bare.p99(),
            ratio: self.p50 / bare.p50(),
        });
        self
    }

    /// Judges the line.
    pub(crate) fn reach(mut self, target: Target) -> Self {
        let ratio = self
            .baseline
            .as_ref()
            .map_or(f64::NAN, |baseline| baseline.ratio);
        let (met, words) = match target {
            Target::TimesBaseline(most) => (ratio <= most, format!("<= {most}x")),
            Target::BaselineTimes(least) => {
                if let Some(baseline) = &mut self.baseline {
                    baseline.ratio = 1.0 / ratio;
                }
                (1.0 / ratio >= least, format!(">= {least}x faster"))
            }
            Target::AtLeastTimes(least) => (ratio >= least, format!(">= {least}x")),
            Target::P50(most) => (self.p50 <= most, format!("p50 <= {}", self.unit.show(most))),
            Target::P99(most) => (self.p99 <= most, format!("p99 <= {}", self.unit.show(most))),
        };
        self.met = Some(met);
        self.target = Some(words);
        self
    }
}

impl Unit {
    fn show(self, number: f64) -> String {
        match self {
            Self::Micros if number.abs() >= 10_000.0 => format!("{:.1} ms", number / 1_000.0),
            Self::Micros if number.abs() >= 1_000.0 => format!("{:.2} ms", number / 1_000.0),
            Self::Micros => format!("{number:.1} us"),
            Self::Kibibytes => format!("{number:.1} KiB"),
            Self::PerSecond => format!("{number:.0}/s"),
            Self::Count => format!("{number:.0}"),
        }
    }
}

/// Returns the lines as a table for people.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut cells =
        vec![["what", "p50", "p99", "bare p50", "ratio", "target", ""].map(str::to_owned)];
    cells.extend(
        lines
            .iter()
            .filter(|line| line.skipped.is_none())
            .map(cells_of),
    );
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let width = |row: &[String; 7]| row[column].chars().count();
        cells.iter().map(width).max().unwrap_or(0)
    });
    let mut table = String::new();
    for row in &cells {
        let text: String = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}  "))
            .collect();
        table.push_str(text.trim_end());
        table.push('\n');
    }
    for line in lines {
        if let Some(baseline) = &line.baseline {
            table.push_str(&format!(
                "  bare of `{}`: {}\n",
                line.what.trim(),
                baseline.what
            ));
        }
        if let Some(why) = &line.skipped {
            table.push_str(&format!("  not measured: {}: {why}\n", line.what));
        }
    }
    table
}

fn cells_of(line: &Line) -> [String; 7] {
    let baseline = line.baseline.as_ref();
    [
        format!("{}: {}", line.row, line.what),
        line.unit.show(line.p50),
        line.unit.show(line.p99),
        baseline.map_or_else(String::new, |baseline| line.unit.show(baseline.p50)),
        baseline.map_or_else(String::new, |baseline| format!("{:.2}", baseline.ratio)),
        line.target.clone().unwrap_or_default(),
        match line.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "",
        }
        .to_owned(),
    ]
}
