//! Many seeds, one after the other on each thread.

use crate::{
    arguments::Seeds,
    history::{Broken, Outcome},
    run::run,
    scenario::Scenario,
    tally::Tally,
};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// What came of many seeds.
#[derive(Debug, Default)]
pub struct Found {
    /// How many were run.
    pub seeds: u64,
    /// How often what happened in them.
    pub tally: Tally,
    /// The seeds under which a rule was broken, with the first rule that was; of many, the first.
    pub broken: Vec<(u64, Broken)>,
    /// How many seeds broke a rule.
    pub failures: u64,
}

/// So many broken seeds are kept.
const KEPT: usize = 50;

/// How often progress is told.
const PERIOD: Duration = Duration::from_secs(5);

/// Runs all of them. `progress` hears every few seconds how many are done, and how many of them were broken; it hears at once when
/// one is.
///
/// # Panics
/// If the system has no thread to give.
pub fn campaign(seeds: Seeds, progress: impl Fn(u64, u64) + Sync) -> Found {
    let (next, found) = (AtomicU64::new(0), Mutex::new((Found::default(), Instant::now())));
    thread::scope(|scope| {
        for _ in 0..seeds.jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds.count {
                        return;
                    }
                    let seed = seeds.from + number;
                    let outcome = run(&Scenario::draw(seed));
                    let mut guard = found.lock().unwrap_or_else(PoisonError::into_inner);
                    let (found, told) = &mut *guard;
                    found.take(seed, &outcome);
                    if told.elapsed() >= PERIOD || outcome.broken.is_some() {
                        *told = Instant::now();
                        progress(found.seeds, found.failures);
                    }
                }
            });
        }
    });
    let (mut found, _) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.broken.sort_by_key(|(seed, _)| *seed);
    found
}

impl Found {
    fn take(&mut self, seed: u64, outcome: &Outcome) {
        self.seeds += 1;
        self.tally.merge(&outcome.tally);
        if let Some(broken) = &outcome.broken {
            self.failures += 1;
            if self.broken.len() < KEPT {
                self.broken.push((seed, broken.clone()));
            }
        }
    }

    /// What should have happened in so many seeds, and never did.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        expected().filter(|what| self.tally.count(what) == 0).collect()
    }
}

/// What a run of some hundred seeds is expected to see.
fn expected() -> impl Iterator<Item = String> {
    let troubles = crate::act::Trouble::KINDS.into_iter().chain(["cut", "compaction", "server restart"]);
    let answers = ["410", "429", "500", "503"].into_iter().map(|code| format!("answered: {code}"));
    let others = [
        "asked: list",
        "asked: next page",
        "asked: stream",
        "asked: watch",
        "audited",
        "bursts: Free",
        "bursts: Stuck",
        "came back",
        "compared: every write",
        "compared: order",
        "compared: every write since it was saved",
        "ended: dropped",
        "ended: killed",
        "ended: stopped",
        "failed: expired",
        "joined: blocking",
        "joined: coalescing",
        "joined: late, for differences",
        "joined: unbounded",
        "left",
        "restarts: listed again",
        "restarts: refused",
        "restarts: resumed",
        "restarts: warm",
        "told: sync",
        "told: vanished",
    ];
    let damages = crate::act::Damage::KINDS.map(|kind| format!("killed, with: {kind}"));
    let struck = troubles.map(|kind| format!("struck: {kind}"));
    struck.chain(answers).chain(damages).chain(others.map(str::to_owned))
}
