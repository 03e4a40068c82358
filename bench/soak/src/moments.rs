//! How long changes took from their write to a handler: of late, in all, and while nothing was made to fail.

use crate::histogram::Histogram;
use serde_json::{Value, json};

/// When faults happen: one at the begin of each period, felt for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rhythm {
    /// In nanoseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) period: u64,
    pub(crate) window: u64,
}

/// The times of all changes.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    rhythm: Option<Rhythm>,
    lately: Histogram,
    all: Histogram,
    calm: Histogram,
    late: u64,
}

/// What takes longer than this is counted on its own.
const LATE: u64 = 5_000_000_000;

impl Rhythm {
    /// Whether what was written then met a fault.
    fn is_disturbed(self, sent: u64) -> bool {
        sent.saturating_sub(self.begin) % self.period.max(1) < self.window
    }
}

impl Moments {
    /// Begins to take times; what was written before that does not count.
    pub(crate) fn begin(&mut self, rhythm: Rhythm) {
        *self = Self { rhythm: Some(rhythm), ..Self::default() };
    }

    /// A handler was told of something that was written then.
    pub(crate) fn told(&mut self, sent: u64, now: u64) {
        let Some(rhythm) = self.rhythm.filter(|rhythm| sent >= rhythm.begin) else { return };
        let took = now.saturating_sub(sent);
        self.lately.add(took);
        self.all.add(took);
        self.late += u64::from(took > LATE);
        if !rhythm.is_disturbed(sent) {
            self.calm.add(took);
        }
    }

    /// What was told since this was last asked.
    pub(crate) fn lately(&mut self) -> Value {
        let lately = report(&self.lately);
        self.lately.clear();
        lately
    }

    pub(crate) fn sum(&self) -> Value {
        json!({ "all": report(&self.all), "calm": report(&self.calm), "late": self.late })
    }
}

fn report(histogram: &Histogram) -> Value {
    json!({
        "events": histogram.total(),
        "p50": histogram.quantile(0.5),
        "p99": histogram.quantile(0.99),
        "p999": histogram.quantile(0.999),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_meets_a_fault_is_not_calm_and_what_was_written_before_does_not_count() {
        let mut moments = Moments::default();
        moments.told(1, 2);
        moments.begin(Rhythm { begin: 100, period: 10, window: 3 });
        for sent in [99, 100, 102, 103, 109, 110] {
            moments.told(sent, sent + 5);
        }
        let sum = moments.sum();
        assert_eq!((&sum["all"]["events"], &sum["calm"]["events"]), (&json!(5), &json!(2)));
    }

    #[test]
    fn lately_begins_anew_each_time() {
        let mut moments = Moments::default();
        moments.begin(Rhythm { begin: 0, period: 10, window: 3 });
        moments.told(1, 2);
        assert_eq!(moments.lately()["events"], 1);
        assert_eq!(moments.lately()["events"], 0);
        assert_eq!(moments.sum()["all"]["events"], 1);
    }
}
