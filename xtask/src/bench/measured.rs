//! What was measured: figures by name, of one contender in one round, and of all in all rounds.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::talk::number;

/// The figures of one contender in one round.
#[derive(Debug, Default, Clone)]
pub(crate) struct Measured(pub(crate) BTreeMap<&'static str, f64>);

impl Measured {
    pub(crate) fn add(&mut self, name: &'static str, value: f64) {
        self.0.insert(name, value);
    }

    /// Takes what a client says of its sync.
    pub(crate) fn synced(&mut self, synced: &Value, settled: &Value, count: u64) -> Result<()> {
        let (steady, base) = (number(settled, "rss")?, number(synced, "base_rss")?);
        self.add("sync_seconds", number(synced, "sync_seconds")?);
        self.add("sync_cpu_seconds", number(synced, "cpu_seconds")?);
        self.add("sync_peak", number(synced, "peak_rss")? / steady);
        self.add("peak_bytes", number(synced, "peak_rss")?);
        self.add("steady_bytes", steady);
        self.add("bytes_per_object", (steady - base).max(0.0) / count as f64);
        Ok(())
    }
}

/// All rounds of all contenders.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<BTreeMap<Contender, Measured>>);

/// The middle of several values, with the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Rounds {
    pub(crate) fn begin(&mut self) {
        self.0.push(BTreeMap::new());
    }

    /// Adds figures to the round that was begun last.
    pub(crate) fn add(&mut self, contender: Contender, measured: Measured) {
        if let Some(round) = self.0.last_mut() {
            round.entry(contender).or_default().0.extend(measured.0);
        }
    }

    /// A figure of a contender, round by round.
    pub(crate) fn values(&self, contender: Contender, key: &str) -> Vec<f64> {
        self.0.iter().filter_map(|round| round.get(&contender)?.0.get(key).copied()).collect()
    }

    /// The ratio of one contender to the best of others, round by round.
    pub(crate) fn ratios(&self, of: Contender, (to, best): (&[Contender], Best), key: &str) -> Vec<f64> {
        let value = |round: &BTreeMap<Contender, Measured>, contender: &Contender| {
            round.get(contender).and_then(|measured| measured.0.get(key).copied())
        };
        let ratio = |round| {
            let others = to.iter().filter_map(|other| value(round, other));
            let base = others.reduce(|a, b| if best == Best::Most { a.max(b) } else { a.min(b) })?;
            (base > 0.0).then_some(value(round, &of)? / base)
        };
        self.0.iter().filter_map(ratio).collect()
    }
}

/// Which of several is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Best {
    Least,
    Most,
}

impl Spread {
    /// Nothing where there are no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { median, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[(Contender, f64)]) -> Rounds {
        let mut rounds = Rounds::default();
        rounds.begin();
        for (contender, value) in values {
            rounds.add(*contender, Measured([("key", *value)].into()));
        }
        rounds
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
        assert_eq!(Spread::of(&[4.0, 2.0]).map(|spread| spread.median), Some(3.0));
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn ratios_are_to_the_best_of_the_round() {
        use Contender::{Go, KubeList, Ours};
        let rounds = rounds(&[(Ours, 2.0), (Go, 4.0), (KubeList, 8.0)]);
        assert_eq!(rounds.ratios(Ours, (&[Go, KubeList], Best::Least), "key"), [0.5]);
        assert_eq!(rounds.ratios(Ours, (&[Go, KubeList], Best::Most), "key"), [0.25]);
        assert_eq!(rounds.ratios(Ours, (&[Contender::GoJson], Best::Most), "key"), [0.0; 0]);
    }
}
