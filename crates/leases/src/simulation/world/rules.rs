//! The rules that the simulation checks.

use super::{CELLS, Violation, World};
use std::collections::BTreeSet;

impl World {
    pub(super) fn poll(&mut self, index: usize) -> Result<(), Violation> {
        let process = &mut self.processes[index];
        let count = process.config.shard_count();
        let polls = process.poll(self.now, &mut self.rng);
        let is_exclusive = self.now >= self.exclusive_from;
        for poll in polls {
            let size = CELLS / count;
            for cell in poll.shard * size..(poll.shard + 1) * size {
                let last = &mut self.polled[cell as usize];
                if let Some(at) = last.by_others(index).filter(|at| is_exclusive && *at > poll.started_at) {
                    let started = poll.started_at;
                    let now = self.now;
                    return Err(Violation(format!(
                        "cell {cell} was reconciled by process {index} from {started:?} to {now:?}, and by another at {at:?}"
                    )));
                }
                last.record(index, self.now);
                let reconciled = &mut self.reconciled[cell as usize];
                *reconciled = (*reconciled).max(Some(poll.started_at));
            }
        }
        Ok(())
    }

    /// Groups whose members do not agree on the number of shards need not hold any.
    fn is_in_agreement(&self) -> bool {
        let counts: BTreeSet<_> = self.alive().map(|(_, process)| process.config.shard_count()).collect();
        counts.len() == 1
    }

    pub(super) fn check_held(&self) -> Result<(), Violation> {
        let Some(since) = self.calm_since.filter(|_| self.is_in_agreement()) else { return Ok(()) };
        match (0..).zip(&self.reconciled).find(|(_, at)| at.is_none_or(|at| at <= since)) {
            None => Ok(()),
            Some((cell, at)) => {
                let cell: u32 = cell;
                Err(Violation(format!("cell {cell} was not reconciled since {since:?}, and last at {at:?}")))
            }
        }
    }

    pub(super) fn check_balance(&mut self) -> Result<(), Violation> {
        self.calm_since = None;
        if !self.is_in_agreement() {
            return Ok(());
        }
        let held: Vec<_> =
            self.alive().map(|(_, process)| (process.held(self.now), process.config.mode)).collect();
        let total: usize = held.iter().map(|(count, _)| count).sum();
        let [most, least] =
            [held.iter().map(|(count, _)| *count).max(), held.iter().map(|(count, _)| *count).min()];
        let shards = self.alive().map(|(_, process)| process.config.shard_count() as usize).max();
        let is_balanced = most.zip(least).is_some_and(|(most, least)| most - least <= 1);
        if Some(total) == shards && is_balanced {
            Ok(())
        } else {
            Err(Violation(format!("unbalanced: {held:?}")))
        }
    }
}
