//! What the rounds say about a figure: spreads, ratios, and whether targets are met.

use crate::bench::contender::Contender;
use crate::bench::figure::{Figure, Limit, Target};
use crate::bench::measured::{Rounds, Spread, typical};

/// One line of the table: a figure of one contender.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) contender: Contender,
    pub(crate) values: Vec<f64>,
    pub(crate) value: Spread,
    /// The share that was told in time, if it is too little for the value to mean anything.
    pub(crate) behind: Option<f64>,
    /// To the best peer of the same figure; the best peer has ratio one.
    pub(crate) ratio: Option<Spread>,
    pub(crate) targets: Vec<Judged>,
}

/// A target, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    pub(crate) target: String,
    /// What it may be at most, if it is that.
    pub(crate) most: Option<f64>,
    /// What it is judged by: a value, or a ratio to those whom it names. Nothing of one that falls behind.
    pub(crate) reached: Option<f64>,
    pub(crate) is_met: bool,
}

/// The lines of a figure, ours first; those without values are left out.
pub(crate) fn lines(figure: &Figure, rounds: &Rounds) -> Vec<Line> {
    figure.contenders().filter_map(|contender| line(figure, rounds, contender)).collect()
}

fn line(figure: &Figure, rounds: &Rounds, contender: Contender) -> Option<Line> {
    let values = rounds.values(contender, figure.key);
    let targets = figure.targets.iter().filter(|target| target.of == contender);
    Some(Line {
        contender,
        value: Spread::of(figure.unit, &values)?,
        behind: rounds.behind(contender, figure),
        ratio: rounds.ratio(contender, figure.peers, figure),
        targets: targets.filter_map(|target| judge(figure, rounds, target)).collect(),
        values,
    })
}

/// What came of a target; nothing if it is relative to who did not run.
fn judge(figure: &Figure, rounds: &Rounds, target: &Target) -> Option<Judged> {
    let (value, is_behind) =
        (rounds.values(target.of, figure.key), rounds.behind(target.of, figure).is_some());
    let names = |peers: &[Contender]| peers.iter().map(|peer| peer.name()).collect::<Vec<_>>().join(" and ");
    let all = target.limit.peers();
    let ran = |peer: &Contender| !rounds.values(*peer, figure.key).is_empty();
    let peers: Vec<_> = all.iter().copied().filter(ran).collect();
    if peers.is_empty() && !all.is_empty() {
        return None;
    }
    let text = match target.limit {
        Limit::Most(most) => format!("<= {}", figure.unit.show(most)),
        Limit::Least(least) => format!(">= {}", figure.unit.show(least)),
        Limit::MostTimes(most, _) => format!("<= {most}x {}", names(&peers)),
        Limit::LeastTimes(least, _) => format!(">= {least}x {}", names(&peers)),
    };
    let reached = match (is_behind, peers.as_slice()) {
        (true, _) => None,
        (false, []) => Some(typical(figure.unit, &value)?),
        (false, peers) => rounds.ratio(target.of, peers, figure).map(|ratio| ratio.value),
    };
    let is_met = match (reached, target.limit) {
        (Some(reached), Limit::Most(most) | Limit::MostTimes(most, _)) => reached <= most,
        (Some(reached), Limit::Least(least) | Limit::LeastTimes(least, _)) => reached >= least,
        // Who keeps up where no peer does is ahead of all.
        (None, _) => !is_behind,
    };
    let most = match target.limit {
        Limit::Most(most) | Limit::MostTimes(most, _) => Some(most),
        Limit::Least(_) | Limit::LeastTimes(..) => None,
    };
    Some(Judged { target: text, most, reached, is_met })
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
        in_time: Some("share"),
    };

    fn of(values: &[(Contender, f64)], shares: &[(Contender, f64)]) -> Vec<Line> {
        let mut rounds = Rounds::default();
        rounds.begin();
        for (key, all) in [("key", values), ("share", shares)] {
            for (contender, value) in all {
                rounds.add(*contender, Measured([(key, vec![*value])].into()));
            }
        }
        lines(&FIGURE, &rounds)
    }

    fn judged(reached: Option<f64>, is_met: bool) -> Judged {
        Judged { target: "<= 0.5x client-go".to_owned(), most: Some(0.5), reached, is_met }
    }

    #[test]
    fn targets_are_met_or_missed() {
        for (ours, is_met) in [(1.0, true), (2.0, false)] {
            let lines = of(&[(Contender::Ours, ours), (Contender::Go, 2.0)], &[]);
            assert_eq!(lines[0].targets, [judged(Some(ours / 2.0), is_met)]);
        }
    }

    #[test]
    fn who_falls_behind_misses_and_who_keeps_up_alone_meets() {
        let values = [(Contender::Ours, 1.0), (Contender::Go, 9.0)];
        let lines = of(&values, &[(Contender::Ours, 0.6), (Contender::Go, 1.0)]);
        assert_eq!((lines[0].behind, lines[0].ratio), (Some(0.6), None));
        assert_eq!(lines[0].targets, [judged(None, false)]);
        let lines = of(&values, &[(Contender::Ours, 1.0), (Contender::Go, 0.6)]);
        assert_eq!(lines[0].targets, [judged(None, true)]);
    }

    #[test]
    fn a_target_names_those_who_ran() {
        const BOTH: &[Contender] = &[Contender::KubeList, Contender::Go];
        const TARGETS: &[Target] = &[Target { of: Contender::Ours, limit: Limit::MostTimes(0.5, BOTH) }];
        let mut rounds = Rounds::default();
        rounds.begin();
        for (contender, value) in [(Contender::Ours, 1.0), (Contender::Go, 2.0)] {
            rounds.add(contender, Measured([("key", vec![value])].into()));
        }
        let lines = lines(&Figure { targets: TARGETS, ..FIGURE }, &rounds);
        assert_eq!(lines[0].targets, [judged(Some(0.5), true)]);
    }

    #[test]
    fn who_did_not_run_is_left_out_and_judges_nobody() {
        let lines = of(&[(Contender::Ours, 1.0), (Contender::KubeList, 4.0)], &[]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].targets, []);
        assert_eq!(lines[0].ratio.map(|ratio| ratio.value), Some(0.25));
    }
}
