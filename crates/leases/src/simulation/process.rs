//! A process of the simulation: a replica with a clock of its own, and reconcilers that work on its shards.

use crate::clock::BootTime;
use crate::config::Config;
use crate::record::Record;
use crate::replica::Replica;
use crate::request::Now;
use crate::shard_table::Phase;
use crate::simulation::Bug;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use testkit::Random;

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) config: Arc<Config>,
    pub(crate) replica: Replica,
    pub(crate) state: State,
    clock: SkewedClock,
    bug: Option<Bug>,
    /// Requests that are in progress: they have no response, and have not timed out.
    pub(crate) requests: BTreeSet<u64>,
    /// The connection of the watch; events of other connections are dropped.
    pub(crate) connection: u64,
    /// The latest timer; earlier ones are dropped.
    pub(crate) timer: u64,
    is_relisting: bool,
    work: BTreeMap<u32, Work>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Paused,
    Dead,
}

/// A reconcile in progress.
#[derive(Clone, Debug)]
struct Work {
    term: u64,
    started_at: Duration,
    polls_left: u64,
    deadline: BootTime,
}

/// One poll of a reconcile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub(crate) shard: u32,
    pub(crate) started_at: Duration,
}

/// A clock that runs at its own rate from its own start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkewedClock {
    pub(crate) rate: f64,
    pub(crate) boot_offset: Duration,
    pub(crate) wall_offset: SignedDuration,
}

impl SkewedClock {
    fn boot(&self, real: Duration) -> BootTime {
        BootTime::from_start(self.boot_offset + real.mul_f64(self.rate))
    }

    fn real(&self, boot: BootTime) -> Duration {
        boot.since_start().saturating_sub(self.boot_offset).div_f64(self.rate)
    }

    fn wall(&self, real: Duration) -> Timestamp {
        let start = Timestamp::from_second(1_800_000_000).expect("a valid time");
        let elapsed = SignedDuration::try_from(real.mul_f64(self.rate)).expect("a short duration");
        start + self.wall_offset + elapsed
    }
}

impl Process {
    pub(crate) fn new(config: Arc<Config>, clock: SkewedClock, bug: Option<Bug>) -> Self {
        Self {
            replica: Replica::new(&config),
            config,
            state: State::Running,
            clock,
            bug,
            requests: BTreeSet::new(),
            connection: 0,
            timer: 0,
            is_relisting: false,
            work: BTreeMap::new(),
        }
    }

    /// Returns true once if the replica requests a list.
    pub(crate) fn starts_relist(&mut self) -> bool {
        let must_list = self.replica.must_list();
        let starts = must_list && !self.is_relisting;
        self.is_relisting = must_list;
        starts
    }

    pub(crate) fn now(&self, real: Duration) -> Now {
        Now { boot: self.clock.boot(real), wall: self.clock.wall(real) }
    }

    /// Returns the real time of a local time, rounded up.
    pub(crate) fn real(&self, boot: BootTime) -> Duration {
        self.clock.real(boot) + Duration::from_micros(1)
    }

    /// Returns the real duration of a local duration.
    pub(crate) fn real_duration(&self, local: Duration) -> Duration {
        local.div_f64(self.clock.rate)
    }

    /// Returns the time of the observation of a record.
    pub(crate) fn observation_time(&self, record: &Record, real: Duration) -> BootTime {
        let now = self.now(real);
        match (self.bug, record.renew_time()) {
            (Some(Bug::CompareClocks), Some(renewed)) => {
                let age = now.wall.duration_since(renewed);
                let age = Duration::try_from(age).unwrap_or_default();
                BootTime::from_start(now.boot.since_start().saturating_sub(age))
            }
            _ => now.boot,
        }
    }

    /// Polls all reconciles once, as a runtime does, and starts new ones. Returns the polls.
    pub(crate) fn poll(&mut self, real: Duration, rng: &mut Random) -> Vec<Poll> {
        let now = self.clock.boot(real);
        let deadline = self.replica.deadline();
        let holdings: BTreeMap<_, _> =
            self.replica.holdings().map(|(shard, holding)| (shard, holding.clone())).collect();
        let mut polls = Vec::new();
        let bug = self.bug;
        self.work.retain(|shard, work| {
            let holding = holdings.get(shard).filter(|holding| holding.term == work.term);
            if let (Some(_), Some(deadline)) = (holding, deadline) {
                work.deadline = deadline;
            }
            let is_term_valid = holding.is_some_and(|holding| holding.phase != Phase::Cancelled)
                || bug == Some(Bug::ReleaseBeforeDrain);
            let is_in_time = now < work.deadline || bug == Some(Bug::NoDeadlineCheck);
            if !is_term_valid || !is_in_time {
                return false;
            }
            polls.push(Poll { shard: *shard, started_at: work.started_at });
            work.polls_left -= 1;
            work.polls_left > 0
        });
        for (shard, holding) in &holdings {
            let Some(deadline) = deadline.filter(|_| holding.phase == Phase::Active) else { continue };
            let is_in_time = now < deadline || bug == Some(Bug::NoDeadlineCheck);
            if is_in_time && !self.work.contains_key(shard) && !rng.one_in(4) {
                polls.push(Poll { shard: *shard, started_at: real });
                let work =
                    Work { term: holding.term, started_at: real, polls_left: 1 + rng.below(6), deadline };
                self.work.insert(*shard, work);
            }
        }
        polls
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.replica.holdings().any(|(_, holding)| holding.phase != Phase::Active)
    }

    /// Reports shards whose work has ended after a request to drain.
    pub(crate) fn report_drained(&mut self) {
        let holdings: Vec<_> = self
            .replica
            .holdings()
            .filter(|(_, holding)| holding.phase != Phase::Active)
            .map(|(shard, holding)| (shard, holding.clone()))
            .collect();
        for (shard, holding) in holdings {
            let is_working = self.work.get(&shard).is_some_and(|work| work.term == holding.term);
            let is_cancelled = holding.phase == Phase::Cancelled;
            if is_cancelled {
                self.work.remove(&shard);
            }
            if !is_working || is_cancelled || self.bug == Some(Bug::ReleaseBeforeDrain) {
                self.replica.drained(shard, holding.term);
            }
        }
    }

    /// Returns the number of shards that are held with a valid deadline.
    pub(crate) fn held(&self, real: Duration) -> usize {
        let is_valid = self.replica.deadline().is_some_and(|deadline| self.clock.boot(real) < deadline);
        if is_valid { self.replica.holdings().count() } else { 0 }
    }
}
