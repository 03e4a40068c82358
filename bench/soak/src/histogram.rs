//! Times in buckets, so that millions of them take the room of a few thousand.

/// Each doubling is cut into so many buckets: a value is known to one part in 32.
const PARTS: u32 = 32;
const PARTS_LOG: u32 = PARTS.ilog2();
/// Up to 2^40 microseconds, which is longer than anything here runs.
const BUCKETS: usize = (PARTS * 40) as usize;

/// How often which time was taken; its size does not depend on how many there are.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Box<[u64]>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into(), total: 0 }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, nanos: u64) {
        self.counts[bucket(nanos / 1_000)] += 1;
        self.total += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    /// The time below which this share lies, in milliseconds: the top of its bucket, so that it is never too little.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let wanted = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= wanted {
                return top(bucket) as f64 / 1e3;
            }
        }
        0.0
    }
}

/// Small values have a bucket each; above, each doubling has `PARTS`.
fn bucket(micros: u64) -> usize {
    let doubling = micros.max(1).ilog2().saturating_sub(PARTS_LOG);
    let bucket = u64::from(doubling * PARTS) + (micros >> doubling);
    (bucket as usize).min(BUCKETS - 1)
}

/// The first value above a bucket, in microseconds.
fn top(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let parts = u64::from(PARTS);
    let doubling = (bucket / parts).saturating_sub(1);
    (bucket - doubling * parts + 1) << doubling
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_below_its_top_and_little_else() {
        for micros in (0..5_000).chain([40_000, 1_000_000, 77_777_777, 3_600_000_000]) {
            let top = top(bucket(micros));
            assert!(top > micros && top as f64 <= (micros + 1) as f64 * 1.04, "{micros} is below {top}");
        }
    }

    #[test]
    fn quantiles_are_of_what_was_added() {
        let mut histogram = Histogram::default();
        (1..=1000_u64).for_each(|ms| histogram.add(ms * 1_000_000));
        for (share, ms) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let found = histogram.quantile(share);
            assert!((ms..ms * 1.04).contains(&found), "{share}: {found}");
        }
        histogram.clear();
        assert_eq!((histogram.total(), histogram.quantile(0.5)), (0, 0.0));
    }
}
