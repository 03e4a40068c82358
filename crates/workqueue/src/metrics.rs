//! The metrics of a queue.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::order::Slot;
use crate::sync::Instant;

/// A snapshot of the metrics that client-go's workqueue exports.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// The number of items that are queued, or were added again while they are processed.
    pub depth: usize,
    /// The number of adds, not counting adds of items that were queued already.
    pub adds: u64,
    /// The number of adds with a delay, including rate-limited ones.
    pub retries: u64,
    /// The time between adding an item and handing it out.
    pub queue_duration: Histogram,
    /// The time that items were processed.
    pub work_duration: Histogram,
    /// The total time that the current items have been processed so far.
    pub unfinished_work: Duration,
    /// The longest time that one of the current items has been processed so far.
    pub longest_running: Duration,
}

/// A histogram of durations with a bucket for each power of ten, from ten nanoseconds to a thousand seconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    sum: Duration,
    decades: [u64; DECADES],
}

impl Histogram {
    /// Returns the number of observed durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns each upper bound with the cumulative number of durations, as in Prometheus.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        (0..DECADES).map(|i| (bound(i), self.decades[..=i].iter().sum()))
    }

    fn observe(&mut self, duration: Duration) {
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
        if let Some(i) = (0..DECADES).find(|i| duration <= bound(*i)) {
            self.decades[i] += 1;
        }
    }
}

const DECADES: usize = 12;

fn bound(decade: usize) -> Duration {
    Duration::from_nanos((1..=decade).fold(10, |nanos, _| nanos * 10))
}

/// Records metrics while the queue is open.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    metrics: Metrics,
    processing: BTreeMap<Slot, Instant>,
}

impl Recorder {
    pub(crate) fn item_added(&mut self) {
        self.metrics.adds += 1;
        self.metrics.depth += 1;
    }

    pub(crate) fn item_delayed(&mut self) {
        self.metrics.retries += 1;
    }

    pub(crate) fn item_taken(&mut self, slot: Slot, waited: Duration, now: Instant) {
        self.metrics.depth -= 1;
        self.metrics.queue_duration.observe(waited);
        self.processing.insert(slot, now);
    }

    pub(crate) fn item_done(&mut self, slot: Slot, now: Instant) {
        if let Some(start) = self.processing.remove(&slot) {
            self.metrics.work_duration.observe(now - start);
        }
    }

    pub(crate) fn snapshot(&self, now: Instant) -> Metrics {
        let running = self.processing.values().map(|start| now - *start);
        Metrics {
            unfinished_work: running.clone().sum(),
            longest_running: running.max().unwrap_or_default(),
            ..self.metrics.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let mut seen = Histogram::default();
        for micros in [1, 50, 60, 5_000_000_000] {
            seen.observe(Duration::from_micros(micros));
        }
        let up_to = |limit| seen.buckets().find(|(bound, _)| *bound >= limit).map(|(_, count)| count);
        assert_eq!(up_to(Duration::from_micros(1)), Some(1));
        assert_eq!(up_to(Duration::from_micros(100)), Some(3));
        assert_eq!(seen.buckets().last(), Some((Duration::from_secs(1000), 3)));
        assert_eq!(seen.count(), 4);
    }
}
