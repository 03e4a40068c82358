//! Runs many seeds on several threads.

use crate::{
    arguments::Seeds,
    history::{Broken, Outcome},
    run::run_without_log,
    scenario::Scenario,
    statistics::Statistics,
};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The result of many seeds.
#[derive(Debug, Default)]
pub struct CampaignResult {
    /// The number of seeds.
    pub seeds: u64,
    /// The sum of the statistics.
    pub statistics: Statistics,
    /// Seeds with a violation, at most 50.
    pub broken: Vec<(u64, Broken)>,
    /// The number of seeds with a violation.
    pub failures: u64,
}

/// The maximum number of violations in the result.
const MAX_BROKEN: usize = 50;

/// The interval of progress reports.
const PERIOD: Duration = Duration::from_secs(5);

/// Runs all seeds. Calls `progress` every few seconds and after each violation with the number of seeds and of violations.
///
/// # Panics
/// If a thread cannot be created.
pub fn campaign(seeds: Seeds, progress: impl Fn(u64, u64) + Sync) -> CampaignResult {
    let (next, found) = (AtomicU64::new(0), Mutex::new((CampaignResult::default(), Instant::now())));
    thread::scope(|scope| {
        for _ in 0..seeds.jobs {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds.count {
                        return;
                    }
                    let seed = seeds.from + number;
                    let outcome = run_without_log(&Scenario::generate(seed));
                    let mut guard = found.lock().unwrap_or_else(PoisonError::into_inner);
                    let (found, reported_at) = &mut *guard;
                    found.take(seed, &outcome);
                    if reported_at.elapsed() >= PERIOD || outcome.broken.is_some() {
                        *reported_at = Instant::now();
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

impl CampaignResult {
    fn take(&mut self, seed: u64, outcome: &Outcome) {
        self.seeds += 1;
        self.statistics.merge(&outcome.statistics);
        if let Some(broken) = &outcome.broken {
            self.failures += 1;
            if self.broken.len() < MAX_BROKEN {
                self.broken.push((seed, broken.clone()));
            }
        }
    }

    /// Returns the expected counts that are zero.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        expected().filter(|what| self.statistics.count(what) == 0).collect()
    }
}

/// Returns the counts that are not zero in a run of 300 seeds.
fn expected() -> impl Iterator<Item = String> {
    let faults = crate::action::RequestFault::KINDS.into_iter().chain([
        "cut",
        "compaction",
        "server restart",
        "upgrade",
    ]);
    let responses = ["410", "429", "500", "503"].into_iter().map(|code| format!("response: {code}"));
    let others = [
        "requested: list",
        "requested: next page",
        "requested: stream",
        "requested: watch",
        "compared: bookmarks",
        "compared: content after an upgrade",
        "compared: restart",
        "bursts: None",
        "bursts: Blocked",
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
        "removed",
        "restarts: relisted",
        "restarts: rejected",
        "restarts: resumed",
        "restarts: restored",
        "event: resync",
        "event: deleted (inferred)",
    ];
    let damages = crate::action::Damage::KINDS.map(|kind| format!("killed with {kind}"));
    let hits = faults.map(|kind| format!("fault: {kind}"));
    hits.chain(responses).chain(damages).chain(others.map(str::to_owned))
}
