//! Samples of all rounds, and the one estimator: the median of the rounds with minimum and maximum.

use std::collections::BTreeMap;

use crate::compare::metric::Metric;

/// The samples of one client in one round, by the key of the metric.
#[derive(Debug, Default, Clone)]
pub(crate) struct Samples(BTreeMap<&'static str, Vec<f64>>);

/// The samples of all clients in all rounds.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<BTreeMap<&'static str, Samples>>);

/// The median of the rounds with minimum and maximum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Samples {
    pub(crate) fn add(&mut self, key: &'static str, value: f64) {
        self.0.entry(key).or_default().push(value);
    }

    /// Adds all samples of another set.
    pub(crate) fn extend(&mut self, other: Self) {
        for (key, values) in other.0 {
            self.0.entry(key).or_default().extend(values);
        }
    }

    /// Returns the median of the samples with this key.
    pub(crate) fn median(&self, key: &str) -> Option<f64> {
        median(self.0.get(key)?)
    }
}

impl Rounds {
    pub(crate) fn start_round(&mut self) {
        self.0.push(BTreeMap::new());
    }

    /// Adds the samples of a client to the current round.
    pub(crate) fn add(&mut self, client: &'static str, samples: Samples) {
        if let Some(round) = self.0.last_mut() {
            round.entry(client).or_default().extend(samples);
        }
    }

    /// Returns the value of each round in which the client was measured.
    pub(crate) fn values(&self, client: &str, metric: &Metric) -> Vec<f64> {
        self.0.iter().filter_map(|round| round.get(client)?.median(metric.key)).collect()
    }

    /// Returns the ratio of the client to the peer with the best median, computed within each round: the clients of a round
    /// run within minutes, so that slow times of the machine affect both.
    pub(crate) fn ratio_to_best_peer(&self, client: &str, metric: &Metric) -> Option<Estimate> {
        let peers = metric.peers.iter().filter_map(|peer| Some((*peer, median(&self.values(peer, metric))?)));
        let (peer, _) =
            peers.reduce(|best, other| if metric.unit.is_better(other.1, best.1) { other } else { best })?;
        let value = |round: &BTreeMap<&'static str, Samples>, name: &str| round.get(name)?.median(metric.key);
        let ratios: Vec<f64> = self
            .0
            .iter()
            .filter_map(|round| Some(value(round, client)? / value(round, peer).filter(|base| *base > 0.0)?))
            .collect();
        Estimate::of(&ratios)
    }
}

impl Estimate {
    /// Returns `None` if there are no values.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        Some(Self { median: median(values)?, min: fold(f64::min)?, max: fold(f64::max)? })
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::metric::{METRICS, Unit};
    use crate::compare::workload::Workload;

    fn metric() -> Metric {
        let metric = METRICS.iter().find(|metric| metric.workload == Workload::Memory).unwrap();
        Metric { key: "key", unit: Unit::Seconds, ..*metric }
    }

    fn rounds(all: &[&[(&'static str, &[f64])]]) -> Rounds {
        let mut rounds = Rounds::default();
        for round in all {
            rounds.start_round();
            for (client, values) in *round {
                let mut samples = Samples::default();
                values.iter().for_each(|value| samples.add("key", *value));
                rounds.add(client, samples);
            }
        }
        rounds
    }

    #[test]
    fn an_estimate_is_the_median_with_minimum_and_maximum() {
        assert_eq!(Estimate::of(&[3.0, 1.0, 2.0]), Some(Estimate { median: 2.0, min: 1.0, max: 3.0 }));
        assert_eq!(Estimate::of(&[4.0, 2.0]).map(|estimate| estimate.median), Some(3.0));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn several_samples_of_a_round_count_once() {
        let rounds = rounds(&[&[("decoded", &[1.0, 9.0, 2.0])], &[("decoded", &[4.0])], &[]]);
        assert_eq!(rounds.values("decoded", &metric()), [2.0, 4.0]);
    }

    #[test]
    fn ratios_are_computed_within_each_round_to_the_best_peer() {
        let rounds = rounds(&[
            &[("decoded", &[2.0]), ("client-go", &[4.0]), ("kube-rs", &[8.0])],
            &[("decoded", &[9.0]), ("client-go", &[6.0])],
        ]);
        let ratio = |unit| rounds.ratio_to_best_peer("decoded", &Metric { unit, ..metric() }).unwrap();
        assert_eq!(ratio(Unit::Seconds), Estimate { median: 1.0, min: 0.5, max: 1.5 });
        assert_eq!(ratio(Unit::PerSecond), Estimate { median: 0.25, min: 0.25, max: 0.25 });
        let alone = Metric { peers: &["kube-rs stream"], ..metric() };
        assert_eq!(rounds.ratio_to_best_peer("decoded", &alone), None);
    }
}
