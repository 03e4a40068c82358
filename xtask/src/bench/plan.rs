//! Who goes through what, and in how many of the rounds.

use crate::bench::contender::Contender;
use crate::bench::figure::{FIGURES, Figure};
use crate::bench::options::{Effort, Options, Server};
use crate::bench::programs::Programs;
use crate::bench::row::{Pace, Phase, Row};

/// A memory figure is the same in every round, but for chance at the start.
const STEADY: usize = 4;

/// So many more rounds has what is brief; what is briefest has twice as many.
const MORE: usize = 2;

/// A contender with its phases, each of which runs in so many rounds, the first ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) contender: Contender,
    pub(crate) phases: Vec<(Phase, usize)>,
}

/// One contender's turn in a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) round: usize,
    pub(crate) contender: Contender,
    pub(crate) phases: Vec<Phase>,
}

/// Every turn of a plan: round by round, in an order that turns; who is done with everything is left out.
pub(crate) fn turns(plan: &[Entry]) -> Vec<Turn> {
    let rounds = plan.iter().flat_map(|entry| &entry.phases).map(|(_, rounds)| *rounds).max().unwrap_or(0);
    let turn = |round: usize, at: usize| {
        let Entry { contender, phases } = &plan[(at + round) % plan.len()];
        let phases = phases.iter().filter(|(_, rounds)| round < *rounds).map(|(phase, _)| *phase);
        Turn { round, contender: *contender, phases: phases.collect() }
    };
    let all = (0..rounds).flat_map(|round| (0..plan.len()).map(move |at| (round, at)));
    all.map(|(round, at)| turn(round, at)).filter(|turn| !turn.phases.is_empty()).collect()
}

/// The plan, as far as the rows want it and programs are there.
pub(crate) fn plan(options: &Options, programs: &Programs) -> Vec<Entry> {
    let there = Contender::ALL.into_iter().filter(|contender| programs.has(contender.program()));
    there.map(|contender| entry(options, contender)).filter(|entry| !entry.phases.is_empty()).collect()
}

fn entry(options: &Options, contender: Contender) -> Entry {
    let mut phases: Vec<(Phase, usize)> = Vec::new();
    for figure in FIGURES.iter().filter(|figure| options.rows.contains(&figure.row)) {
        if !figure.contenders().any(|other| other == contender) {
            continue;
        }
        let phase = match (options.server, figure.phase()) {
            // A real server does not expire watches on command.
            (Server::Real, Phase::Relist) => Phase::Sync,
            // It has one rate.
            (Server::Real, Phase::Rush) => Phase::Latency,
            (_, phase) => phase,
        };
        let wanted = rounds(options, figure, contender);
        if wanted == 0 {
            continue;
        }
        match phases.iter_mut().find(|(other, _)| *other == phase) {
            Some((_, rounds)) => *rounds = (*rounds).max(wanted),
            None => phases.push((phase, wanted)),
        }
    }
    phases.sort_unstable();
    Entry { contender, phases }
}

/// What takes many seconds, and no target rests on it, or one that would be met or missed by chance in so few.
fn is_spared(figure: &Figure, contender: Contender) -> bool {
    match contender {
        Contender::GoJson => true,
        Contender::OursJson => figure.row == Row::W7,
        Contender::OursCompact => figure.row == Row::W8,
        Contender::KubeList if matches!(figure.row, Row::W5 | Row::W6) => true,
        // It is about as much as these take on two processors, or more: what there is, is a queue, and how long it is by luck.
        Contender::Ours | Contender::KubeList => figure.phase() == Phase::Rush,
        _ => false,
    }
}

/// In how many rounds a figure of a contender is taken.
fn rounds(options: &Options, figure: &Figure, contender: Contender) -> usize {
    let rests = figure.rests_on(contender);
    let pace = match (figure.row, contender) {
        // Who has nothing saved begins with a cold sync, which is taken anyway.
        (Row::W12, peer) if !peer.is_saved() => Pace::Brief,
        // It takes longest, and client-go is ahead of it by far.
        (Row::W8, Contender::KubeList) => Pace::Long,
        (..) => figure.pace(),
    };
    match (options.effort, pace) {
        (Effort::Even, _) => options.rounds,
        (Effort::ByTarget, _) if is_spared(figure, contender) => 0,
        (Effort::ByTarget, Pace::Noisy) if rests => options.rounds,
        (Effort::ByTarget, Pace::Briefest) if rests => options.rounds + 2 * MORE,
        (Effort::ByTarget, Pace::Brief) if rests => options.rounds + MORE,
        (Effort::ByTarget, Pace::Steady) if rests => options.rounds.min(STEADY),
        (Effort::ByTarget, Pace::Noisy | Pace::Brief | Pace::Briefest | Pace::Steady | Pace::Long) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::options::parse;

    fn phases(line: &str, contender: Contender) -> Vec<(Phase, usize)> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        entry(&parse(&words).unwrap(), contender).phases
    }

    #[test]
    fn in_a_full_run_everybody_runs_in_every_round() {
        let phases = phases("--rounds 3", Contender::GoJson);
        assert_eq!(phases, [(Phase::Sync, 3), (Phase::Storm, 3)]);
    }

    #[test]
    fn a_quick_run_repeats_what_targets_rest_on() {
        let quick = |contender| phases("--quick --rounds 7", contender);
        // No target is relative to the relists of kube-rs, nor of the rates of compact caches.
        assert_eq!(quick(Contender::KubeList), [(Phase::Sync, 9), (Phase::Storm, 11), (Phase::Latency, 1)]);
        assert_eq!(quick(Contender::OursCompact), [(Phase::Sync, 11), (Phase::Relist, 9), (Phase::Storm, 1)]);
        assert_eq!(quick(Contender::OursStripped), [(Phase::Sync, 4)]);
        // What takes long, and no target rests on it, is left to a full run; and so is what is as much as one can take.
        let lazy = quick(Contender::OursLazy);
        assert!(lazy.contains(&(Phase::Rush, 7)), "{lazy:?}");
        assert!(lazy.contains(&(Phase::Latency, 11)) && lazy.contains(&(Phase::Storm, 11)), "{lazy:?}");
        assert!(quick(Contender::OursParts).contains(&(Phase::SlowHandler, 1)));
        assert!(quick(Contender::Ours).iter().all(|(phase, _)| *phase != Phase::Rush));
        assert_eq!(quick(Contender::GoJson), []);
        assert_eq!(quick(Contender::OursJson), [(Phase::Sync, 9)]);
        // Parts have targets of their own, and no peer's.
        assert!(quick(Contender::OursParts).contains(&(Phase::Fanout, 7)));
        assert!(quick(Contender::KubeParts).contains(&(Phase::Fanout, 1)));
        assert!(quick(Contender::OursParts).contains(&(Phase::Watchers, 1)));
        assert_eq!(quick(Contender::ApiServer), [(Phase::Watchers, 1)]);
        // A peer's cold sync stands for its restart.
        assert_eq!(quick(Contender::OursSaved), [(Phase::Restart, 7)]);
        assert!(quick(Contender::Go).contains(&(Phase::Restart, 9)));
    }

    #[test]
    fn the_order_turns_and_who_is_done_is_left_out() {
        use Contender::{Go, GoJson, KubeList};
        let plan = [
            Entry { contender: KubeList, phases: vec![(Phase::Sync, 3), (Phase::Relist, 1)] },
            Entry { contender: GoJson, phases: vec![(Phase::Sync, 1)] },
            Entry { contender: Go, phases: vec![(Phase::Sync, 2)] },
        ];
        let turns = turns(&plan);
        let order: Vec<_> = turns.iter().map(|turn| (turn.round, turn.contender)).collect();
        assert_eq!(order, [(0, KubeList), (0, GoJson), (0, Go), (1, Go), (1, KubeList), (2, KubeList)]);
        assert_eq!(
            (&turns[0].phases[..], &turns[4].phases[..]),
            (&[Phase::Sync, Phase::Relist][..], &[Phase::Sync][..])
        );
    }

    #[test]
    fn a_real_server_has_no_relists() {
        assert_eq!(phases("--real W5 --rounds 2", Contender::Ours), [(Phase::Sync, 2)]);
        // And one rate.
        assert_eq!(phases("--real W8 --rounds 2", Contender::Ours), [(Phase::Latency, 2)]);
    }
}
