//! What a queue tells about itself.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::order::Slot;
use crate::sync::Instant;

/// A snapshot of a queue's figures, the ones client-go's workqueue exports.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// How many items need processing: those queued, and those in hand that were added again.
    pub depth: usize,
    /// How many adds made an item need processing.
    pub adds: u64,
    /// How many adds asked for a delay, rate-limited ones included.
    pub retries: u64,
    /// How long items waited between being added and being taken.
    pub queue_duration: Histogram,
    /// How long items were in hand.
    pub work_duration: Histogram,
    /// For how long the items in hand have been there, all together.
    pub unfinished_work: Duration,
    /// For how long the item that is in hand longest has been there.
    pub longest_running: Duration,
}

/// Durations counted by decade, from ten nanoseconds to a thousand seconds.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    count: u64,
    sum: Duration,
    decades: [u64; DECADES],
}

impl Histogram {
    /// Returns how many durations were observed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Returns each upper bound with the number of durations up to it, as Prometheus counts.
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

/// Counts while the queue is open.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    so_far: Metrics,
    in_hand: BTreeMap<Slot, Instant>,
}

impl Recorder {
    pub(crate) fn item_added(&mut self) {
        self.so_far.adds += 1;
        self.so_far.depth += 1;
    }

    pub(crate) fn item_delayed(&mut self) {
        self.so_far.retries += 1;
    }

    pub(crate) fn item_taken(&mut self, slot: Slot, waited: Duration, now: Instant) {
        self.so_far.depth -= 1;
        self.so_far.queue_duration.observe(waited);
        self.in_hand.insert(slot, now);
    }

    pub(crate) fn item_done(&mut self, slot: Slot, now: Instant) {
        if let Some(start) = self.in_hand.remove(&slot) {
            self.so_far.work_duration.observe(now - start);
        }
    }

    pub(crate) fn snapshot(&self, now: Instant) -> Metrics {
        let running = self.in_hand.values().map(|start| now - *start);
        Metrics {
            unfinished_work: running.clone().sum(),
            longest_running: running.max().unwrap_or_default(),
            ..self.so_far.clone()
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
