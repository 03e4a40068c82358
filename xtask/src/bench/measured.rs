//! What was measured: figures by name, of one contender in one round, and of all in all rounds.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::figure::{Figure, Unit};
use crate::bench::talk::number;

/// The figures of one contender in one round; one that was taken several times has several values.
#[derive(Debug, Default, Clone)]
pub(crate) struct Measured(pub(crate) BTreeMap<&'static str, Vec<f64>>);

impl Measured {
    pub(crate) fn add(&mut self, name: &'static str, value: f64) {
        self.0.entry(name).or_default().push(value);
    }

    /// Makes every value so many times as large.
    pub(crate) fn scale(&mut self, times: f64) {
        self.0.values_mut().flatten().for_each(|value| *value *= times);
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

/// The value that stands for several, with the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) value: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// A client that tells less than this of what is sent in time falls behind. It is less where a collector runs now and then, and much
/// less where there is a queue.
pub(crate) const IN_TIME: f64 = 0.75;

/// Of so many rounds some can be left out.
const MANY: usize = 5;

/// The share of moments that are calm for certain.
const CALM: f64 = 0.25;

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

    /// The values of a contender, of all rounds.
    pub(crate) fn values(&self, contender: Contender, key: &str) -> Vec<f64> {
        self.0.iter().flat_map(|round| values(round, contender, key)).copied().collect()
    }

    /// The share of events that a contender told in time, if that is too little for this figure to mean anything.
    pub(crate) fn behind(&self, contender: Contender, figure: &Figure) -> Option<f64> {
        let shares = self.values(contender, figure.in_time?);
        median(&shares).filter(|share| *share < IN_TIME)
    }

    /// How one contender stands to the best of others, of those that do not fall behind: the mean of the ratios of all rounds, with the
    /// least and the most of them.
    ///
    /// The processors are faster or slower for half a minute by as much as two fifths, and whoever runs in that time with them: what is held
    /// against each other is of one round.
    pub(crate) fn ratio(&self, of: Contender, to: &[Contender], figure: &Figure) -> Option<Spread> {
        let is_fit = |contender: &Contender| self.behind(*contender, figure).is_none();
        let to: Vec<_> = to.iter().copied().filter(is_fit).collect();
        if !is_fit(&of) {
            return None;
        }
        let whole = |contender: Contender| typical(figure.unit, &self.values(contender, figure.key));
        let peers = to.iter().filter_map(|other| Some((*other, whole(*other)?)));
        let (base, best) =
            peers.reduce(|best, other| if figure.unit.is_better(other.1, best.1) { other } else { best })?;
        if best <= 0.0 {
            return None;
        }
        let each: Vec<_> = self
            .0
            .iter()
            .filter_map(|round| {
                let one = |contender| typical(figure.unit, values(round, contender, figure.key));
                Some(one(of)? / one(base).filter(|base| *base > 0.0)?)
            })
            .collect();
        let value = match (figure.unit, each.len()) {
            // Whole rounds have no calm moment: the best and the worst are left out, as far as there are enough.
            (Unit::Milliseconds, MANY..) => mean_of_ratios(without_ends(&mut each.clone())),
            // What is a mean, or of the calm moments, is so of all rounds.
            (Unit::Bytes | Unit::Milliseconds, _) => whole(of)? / best,
            // Where there is one, all that there is besides counts as well.
            (_, 0 | 1) => {
                let [of, base] = [of, base].map(|contender| self.values(contender, figure.key));
                mean_of_ratios(&of) / mean_of_ratios(&base)
            }
            _ => mean_of_ratios(&each),
        };
        let (least, most) =
            each.iter().fold((value, value), |(least, most), one| (least.min(*one), most.max(*one)));
        Some(Spread { value, least, most })
    }
}

fn values<'r>(round: &'r BTreeMap<Contender, Measured>, contender: Contender, key: &str) -> &'r [f64] {
    round.get(&contender).and_then(|measured| measured.0.get(key)).map_or(&[], Vec::as_slice)
}

impl Spread {
    /// The typical value, with the least and the most; nothing where there are none.
    pub(crate) fn of(unit: Unit, values: &[f64]) -> Option<Self> {
        let end = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        Some(Self { value: typical(unit, values)?, least: end(f64::min)?, most: end(f64::max)? })
    }
}

/// The value that stands for several; nothing where there are none.
///
/// A time is now and then much too long, which the one in the middle does not feel. Memory is one of few sizes, by what an allocator
/// gave back, and the one in the middle would jump from one to the next. A latency is many times too long for as long as somebody else
/// has the processors, which may be most of a run, and never too short: of many moments, it is that of the calm ones.
pub(crate) fn typical(unit: Unit, values: &[f64]) -> Option<f64> {
    match unit {
        Unit::Bytes => mean(values),
        Unit::Milliseconds => calm(values),
        _ => median(values),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which a quarter of them lies; nothing where there are none.
pub(crate) fn calm(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len().saturating_sub(1) as f64 * CALM) as usize;
    sorted.get(at).copied()
}

/// The mean of ratios: twice and half are as far from one.
fn mean_of_ratios(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// All but the least and the most.
fn without_ends(values: &mut [f64]) -> &[f64] {
    values.sort_by(f64::total_cmp);
    &values[1..values.len() - 1]
}

/// The value in the middle; nothing where there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
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
    use crate::bench::row::Row;
    use Contender::{Go, GoJson, KubeList, Ours};

    fn figure(unit: Unit) -> Figure {
        let (ours, peers) = (&[Ours], &[Go, KubeList]);
        Figure {
            row: Row::W1,
            key: "key",
            about: "",
            unit,
            ours,
            peers,
            targets: &[],
            in_time: Some("share"),
        }
    }

    fn rounds(all: &[&[(Contender, &[f64])]]) -> Rounds {
        let mut rounds = Rounds::default();
        for round in all {
            rounds.begin();
            for (contender, values) in *round {
                rounds.add(*contender, Measured([("key", values.to_vec())].into()));
            }
        }
        rounds
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 2.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_middle_stands_for_times_the_mean_for_sizes_and_the_calm_for_latencies() {
        let of = |unit| Spread::of(unit, &[3.0, 1.0, 2.3]);
        assert_eq!(of(Unit::Seconds), Some(Spread { value: 2.3, least: 1.0, most: 3.0 }));
        assert_eq!(of(Unit::Bytes), Some(Spread { value: 2.1, least: 1.0, most: 3.0 }));
        assert_eq!(of(Unit::Milliseconds), Some(Spread { value: 1.0, least: 1.0, most: 3.0 }));
        assert_eq!(typical(Unit::Milliseconds, &[9.0, 2.0, 3.0, 1.0, 8.0, 7.0]), Some(2.0));
        for unit in [Unit::Seconds, Unit::Bytes, Unit::Milliseconds] {
            assert_eq!(Spread::of(unit, &[]), None);
        }
    }

    #[test]
    fn ratios_are_the_mean_of_those_of_the_rounds_to_the_best_peer() {
        let rounds = rounds(&[
            &[(Ours, &[2.0, 4.0]), (Go, &[4.0]), (KubeList, &[8.0])],
            &[(Ours, &[9.0]), (Go, &[6.0])],
        ]);
        let ratio = |unit, to: &[Contender]| rounds.ratio(Ours, to, &figure(unit));
        // In one round three quarters, in the other three halves.
        let to_least = ratio(Unit::Seconds, &[Go, KubeList]).unwrap();
        assert!((to_least.value - (0.75_f64 * 1.5).sqrt()).abs() < 1e-9, "{to_least:?}");
        assert_eq!((to_least.least, to_least.most), (3.0 / 4.0, 9.0 / 6.0));
        // Of one that ran in one round all of the other's count.
        let to_most = ratio(Unit::PerSecond, &[Go, KubeList]).unwrap();
        assert!((to_most.value - (2.0_f64 * 4.0 * 9.0).cbrt() / 8.0).abs() < 1e-9, "{to_most:?}");
        assert_eq!((to_most.least, to_most.most), (3.0 / 8.0, to_most.value));
        // Of sizes it is the ratio of the means.
        assert_eq!(ratio(Unit::Bytes, &[Go]).map(|ratio| ratio.value), Some(5.0 / 5.0));
        assert_eq!(ratio(Unit::Seconds, &[GoJson]), None);
    }

    #[test]
    fn of_latencies_of_many_rounds_the_best_and_the_worst_do_not_count() {
        let round = |ours: f64| vec![(Ours, vec![ours]), (Go, vec![2.0])];
        let ratio = |all: &[f64]| {
            let all: Vec<_> = all.iter().map(|ours| round(*ours)).collect();
            let all: Vec<Vec<(Contender, &[f64])>> = all
                .iter()
                .map(|round| round.iter().map(|(who, values)| (*who, &values[..])).collect())
                .collect();
            let all: Vec<_> = all.iter().map(Vec::as_slice).collect();
            rounds(&all).ratio(Ours, &[Go], &figure(Unit::Milliseconds)).unwrap()
        };
        let many = ratio(&[900.0, 1.0, 2.0, 4.0, 0.01]);
        assert!((many.value - 1.0).abs() < 1e-9, "{many:?}");
        assert_eq!((many.least, many.most), (0.005, 450.0));
        // Of few, the calm moments of all do.
        assert_eq!(ratio(&[900.0, 1.0, 4.0]).value, 0.5);
    }

    #[test]
    fn who_falls_behind_has_no_ratio_and_is_nobody_to_compare_with() {
        let mut rounds = rounds(&[&[(Ours, &[1.0]), (Go, &[4.0]), (KubeList, &[2.0])]]);
        rounds.add(KubeList, Measured([("share", vec![0.7])].into()));
        rounds.add(Go, Measured([("share", vec![1.0])].into()));
        let figure = figure(Unit::Milliseconds);
        assert_eq!(rounds.ratio(Ours, &[Go, KubeList], &figure).map(|ratio| ratio.value), Some(0.25));
        assert_eq!((rounds.behind(KubeList, &figure), rounds.behind(Go, &figure)), (Some(0.7), None));
        assert_eq!(rounds.ratio(KubeList, &[Go], &figure), None);
        // Where no share is taken, nobody falls behind.
        assert_eq!(rounds.behind(KubeList, &Figure { in_time: None, ..figure }), None);
    }
}
