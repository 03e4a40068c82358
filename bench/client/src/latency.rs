//! Quantiles of latencies.

use hdrhistogram::Histogram;

/// The longest latency that is recorded exactly; longer ones count as this: one hour.
const LONGEST: u64 = 3_600_000_000_000;

/// A histogram of latencies with three significant digits, which grows with the longest one.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

impl Default for Latencies {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are supported"))
    }
}

impl Latencies {
    /// Records a latency in nanoseconds.
    ///
    /// # Panics
    /// Never: the histogram grows as needed.
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.record(nanoseconds.min(LONGEST)).expect("the histogram grows with the values");
    }

    /// Adds all latencies of another histogram.
    ///
    /// # Panics
    /// Never: the histogram grows as needed.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("the histogram grows with the values");
    }

    /// Returns the number of recorded latencies.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Returns true if there are no latencies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all latencies.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// Returns a quantile in milliseconds; zero if there are no latencies.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_precise_to_three_digits() {
        let mut latencies = Latencies::default();
        (1..=1000_u64).for_each(|ms| latencies.record(ms * 1_000_000));
        for (quantile, ms) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let found = latencies.quantile(quantile);
            assert!((ms..ms * 1.002).contains(&found), "{quantile}: {found}");
        }
        latencies.clear();
        assert_eq!((latencies.len(), latencies.quantile(0.5)), (0, 0.0));
    }
}
