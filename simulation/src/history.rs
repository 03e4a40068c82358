//! The log of a run, and the first rule that was violated.

use crate::statistics::Statistics;
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, time::Instant};

/// The log of a run; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct History(Arc<Mutex<State>>);

/// The maximum number of log lines and reads at one virtual time; correct runs stay far below it.
const MAX_PER_MOMENT: u64 = 300_000;

/// Whether lines are appended to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logging {
    Enabled,
    Disabled,
}

#[derive(Debug)]
struct State {
    logging: Logging,
    started_at: Instant,
    lines: Vec<String>,
    statistics: Statistics,
    broken: Option<Broken>,
    /// The time of the last activity, and the number of activities at that time.
    moment: Instant,
    activities: u64,
    /// When a subscriber received a change. A reflector that waits for subscribers reads its connection only after that.
    last_delivery: Option<Instant>,
    /// Notified when time does not advance.
    stopped_time: Arc<Notify>,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The observation.
    pub detail: String,
    /// The line of the log.
    pub line: usize,
}

/// A rule that must hold in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// When all faults have ended, the cache equals the server.
    CacheEqualsServer,
    /// The versions of the cache, and of each object in it, never decrease.
    VersionsNeverDecrease,
    /// Each cached or delivered object existed on the server.
    ObjectsExisted,
    /// Each index has the values of its function.
    IndexesMatch,
    /// Each event fits the previous events of its subscriber: none is lost, and none is repeated.
    EventsFit,
    /// The events of a subscriber add up to the cache.
    EventsAddUp,
    /// Subscribers that receive every event receive the same events.
    SubscribersAgree,
    /// While no list was needed, every write is delivered once and in order.
    EveryWriteDelivered,
    /// While no list was needed, the events of one watch are delivered in the order of their versions, across objects.
    WatchOrder,
    /// No list is requested if a watch can continue.
    NoNeedlessList,
    /// No event is delivered before the cache has the object.
    CacheBeforeEvents,
    /// A source has at most one open list and one open watch.
    OneRequestAtATime,
    /// The backlog of a subscriber stays within its policy.
    BacklogBounded,
    /// An informer that was stopped sends no request and delivers no event.
    NothingAfterStop,
    /// The informer neither panics nor stops to make progress.
    Progress,
    /// Virtual time advances.
    TimeAdvances,
    /// A restored state is a complete state of the server, and not older than the previous one.
    RestoredExisted,
    /// An informer that is stopped without faults is saved completely.
    SavedCompletely,
    /// The state that a subscriber of differences persists over several informers equals the server.
    PersistedEqualsServer,
    /// A connection without data is not read longer than the idle timeout.
    DeadConnectionNoticed,
    /// After a full list, objects have the content that the server serves, even if their versions have not changed.
    ContentIsCurrent,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The lines of the log.
    pub lines: Vec<String>,
    /// The statistics.
    pub statistics: Statistics,
    /// The first violation.
    pub broken: Option<Broken>,
}

impl History {
    pub(crate) fn new(logging: Logging) -> Self {
        let now = Instant::now();
        let state = State {
            logging,
            started_at: now,
            lines: Vec::new(),
            statistics: Statistics::default(),
            broken: None,
            moment: now,
            activities: 0,
            last_delivery: None,
            stopped_time: Arc::default(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits until virtual time does not advance any more.
    pub(crate) async fn stopped_time(&self) {
        let stopped_time = Arc::clone(&self.lock().stopped_time);
        stopped_time.notified().await;
    }

    /// Records an activity without a line.
    pub(crate) fn tick(&self) {
        self.lock().tick();
    }

    /// Records that virtual time does not advance.
    pub(crate) fn time_stopped(&self) {
        self.lock().time_stopped();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a line.
    pub(crate) fn note(&self, line: fmt::Arguments<'_>) {
        let mut state = self.lock();
        state.tick();
        if state.logging == Logging::Disabled {
            return;
        }
        let at = state.started_at.elapsed().as_secs_f64();
        state.lines.push(format!("{at:>11.3} {line}"));
    }

    /// Records that a subscriber receives a change.
    pub(crate) fn delivered(&self) {
        self.lock().last_delivery = Some(Instant::now());
    }

    /// Returns when a subscriber last received a change.
    pub(crate) fn last_delivery(&self) -> Option<Instant> {
        self.lock().last_delivery
    }

    /// Adds one to a count.
    pub(crate) fn count(&self, what: &str) {
        self.add(what, 1);
    }

    pub(crate) fn add(&self, what: &str, count: u64) {
        self.lock().statistics.add(what, count);
    }

    /// Records a violation. Only the first one is reported: others may be consequences.
    pub(crate) fn violate(&self, rule: Rule, detail: String) {
        self.note(format_args!("BROKEN {rule:?}: {detail}"));
        let mut state = self.lock();
        let line = state.lines.len().saturating_sub(1);
        state.broken.get_or_insert(Broken { rule, detail, line });
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.lock().broken.is_some()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let state = self.lock();
        Outcome {
            lines: state.lines.clone(),
            statistics: state.statistics.clone(),
            broken: state.broken.clone(),
        }
    }
}

impl State {
    fn tick(&mut self) {
        let now = Instant::now();
        if self.moment != now {
            (self.moment, self.activities) = (now, 0);
        }
        self.activities += 1;
        if self.activities == MAX_PER_MOMENT {
            self.time_stopped();
        }
    }

    fn time_stopped(&mut self) {
        let line = self.lines.len().saturating_sub(1);
        let detail = format!("activity without end at {:?}", self.moment - self.started_at);
        self.broken.get_or_insert(Broken { rule: Rule::TimeAdvances, detail, line });
        self.stopped_time.notify_one();
    }
}

impl Outcome {
    /// Returns a hash of the log.
    #[must_use]
    pub fn digest(&self) -> u64 {
        // This hasher has fixed keys, so that the hash is the same in every process.
        let mut hasher = DefaultHasher::new();
        self.lines.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the lines around the violation, or the last ones.
    #[must_use]
    pub fn excerpt(&self, before: usize, after: usize) -> &[String] {
        let at = self.broken.as_ref().map_or(self.lines.len(), |broken| broken.line);
        &self.lines[at.saturating_sub(before)..(at + after + 1).min(self.lines.len())]
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CacheEqualsServer => "the cache equals the server",
            Self::VersionsNeverDecrease => "versions never decrease",
            Self::ObjectsExisted => "cached and delivered objects existed on the server",
            Self::IndexesMatch => "indexes match the objects",
            Self::EventsFit => "no event is lost or repeated",
            Self::EventsAddUp => "the events of a subscriber add up to the cache",
            Self::SubscribersAgree => "subscribers that receive every event receive the same events",
            Self::EveryWriteDelivered => "without a list, every write is delivered once and in order",
            Self::WatchOrder => "without a list, events are delivered in the order of the watch",
            Self::NoNeedlessList => "no list is requested if a watch can continue",
            Self::CacheBeforeEvents => "no subscriber is ahead of the cache",
            Self::OneRequestAtATime => "a source has at most one open list and one open watch",
            Self::BacklogBounded => "the backlog of a subscriber is bounded",
            Self::NothingAfterStop => "a stopped informer is inactive",
            Self::Progress => "the informer makes progress",
            Self::TimeAdvances => "virtual time advances",
            Self::RestoredExisted => "a restored state is a complete state of the server",
            Self::SavedCompletely => "a stopped informer is saved completely",
            Self::PersistedEqualsServer => "the persisted state of a subscriber equals the server",
            Self::DeadConnectionNoticed => "a dead connection is noticed within the idle timeout",
            Self::ContentIsCurrent => "objects have the content that the server serves",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn activity_without_end_is_detected() {
        let history = History::new(Logging::Enabled);
        let busy = || (1..MAX_PER_MOMENT).for_each(|_| history.tick());
        busy();
        tokio::time::advance(Duration::from_millis(1)).await;
        busy();
        assert!(!history.is_broken());
        history.tick();
        assert_eq!(history.outcome().broken.map(|broken| broken.rule), Some(Rule::TimeAdvances));
        history.stopped_time().await;
    }
}
