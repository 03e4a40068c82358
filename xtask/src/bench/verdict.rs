//! What the rounds say about a figure: spreads, ratios, and whether targets are met.

use crate::bench::contender::Contender;
use crate::bench::figure::{Figure, Limit, Target};
use crate::bench::measured::{Best, Rounds, Spread};

/// One line of the table: a figure of one contender.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) contender: Contender,
    pub(crate) values: Vec<f64>,
    pub(crate) value: Spread,
    /// To the best peer of the same figure; the best peer has ratio one.
    pub(crate) ratio: Option<Spread>,
    pub(crate) targets: Vec<(String, bool)>,
}

/// The lines of a figure, ours first; those without values are left out.
pub(crate) fn lines(figure: &Figure, rounds: &Rounds) -> Vec<Line> {
    figure.contenders().filter_map(|contender| line(figure, rounds, contender)).collect()
}

fn line(figure: &Figure, rounds: &Rounds, contender: Contender) -> Option<Line> {
    let values = rounds.values(contender, figure.key);
    let best = if figure.unit.is_more_better() { Best::Most } else { Best::Least };
    let ratios = rounds.ratios(contender, (figure.peers, best), figure.key);
    let targets = figure.targets.iter().filter(|target| target.of == contender);
    Some(Line {
        contender,
        value: Spread::of(&values)?,
        ratio: Spread::of(&ratios),
        targets: targets.filter_map(|target| judge(figure, rounds, target)).collect(),
        values,
    })
}

/// What the target is, and whether it is met; nothing if it is relative to who did not run.
fn judge(figure: &Figure, rounds: &Rounds, target: &Target) -> Option<(String, bool)> {
    let value = Spread::of(&rounds.values(target.of, figure.key))?.median;
    let ratio = |peers, best| Some(Spread::of(&rounds.ratios(target.of, (peers, best), figure.key))?.median);
    let names = |peers: &[Contender]| peers.iter().map(|peer| peer.name()).collect::<Vec<_>>().join(" and ");
    Some(match target.limit {
        Limit::Most(most) => (format!("<= {}", figure.unit.show(most)), value <= most),
        Limit::Least(least) => (format!(">= {}", figure.unit.show(least)), value >= least),
        Limit::MostTimes(most, peers) => {
            (format!("<= {most}x {}", names(peers)), ratio(peers, Best::Least)? <= most)
        }
        Limit::LeastTimes(least, peers) => {
            (format!(">= {least}x {}", names(peers)), ratio(peers, Best::Most)? >= least)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::Unit;
    use crate::bench::measured::Measured;
    use crate::bench::row::Row;

    const FIGURE: Figure = Figure {
        row: Row::W1,
        key: "key",
        about: "",
        unit: Unit::Seconds,
        ours: &[Contender::Ours],
        peers: &[Contender::Go, Contender::KubeList],
        targets: &[Target { of: Contender::Ours, limit: Limit::MostTimes(0.5, &[Contender::Go]) }],
    };

    fn of(values: &[(Contender, f64)]) -> Vec<Line> {
        let mut rounds = Rounds::default();
        rounds.begin();
        for (contender, value) in values {
            rounds.add(*contender, Measured([("key", *value)].into()));
        }
        lines(&FIGURE, &rounds)
    }

    #[test]
    fn targets_are_met_or_missed() {
        for (ours, is_met) in [(1.0, true), (2.0, false)] {
            let lines = of(&[(Contender::Ours, ours), (Contender::Go, 2.0)]);
            assert_eq!(lines[0].targets, [("<= 0.5x client-go".to_owned(), is_met)]);
        }
    }

    #[test]
    fn who_did_not_run_is_left_out_and_judges_nobody() {
        let lines = of(&[(Contender::Ours, 1.0), (Contender::KubeList, 4.0)]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].targets, []);
        assert_eq!(lines[0].ratio.map(|ratio| ratio.median), Some(0.25));
    }
}
