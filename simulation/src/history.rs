//! What happened in a run, line by line, and the first rule that was broken in it.

use crate::tally::Tally;
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, time::Instant};

/// The history of a run; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct History(Arc<Mutex<State>>);

/// More than this never happens in one moment, by far.
const AT_ONCE: u64 = 300_000;

#[derive(Debug)]
struct State {
    began: Instant,
    lines: Vec<String>,
    tally: Tally,
    broken: Option<Broken>,
    /// The time at which something last happened, and how much did.
    moment: Instant,
    at_once: u64,
    /// Told when time stands still.
    standstill: Arc<Notify>,
}

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which one.
    pub rule: Rule,
    /// What was found.
    pub detail: String,
    /// At which line of the history.
    pub line: usize,
}

/// What must hold, whatever happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Once things are calm, the cache is what the server has.
    CacheIsServer,
    /// The versions of the cache, and of each object in it, only grow.
    NeverBack,
    /// What is cached or told was once so on the server.
    WasSo,
    /// Each index holds what its function says.
    IndexAgrees,
    /// What a follower was told fits what it was told before: nothing is missing and nothing comes twice.
    ToldInOrder,
    /// What a follower was told adds up to the cache.
    AddsUp,
    /// Followers that are told everything are told the same.
    AllAlike,
    /// While no list was needed, every write is told, once and in order.
    EveryWrite,
    /// While no list was needed, one watch is told in the order of its versions, across objects.
    WatchOrder,
    /// No list is asked for where a watch can go on.
    NoNeedlessList,
    /// Nobody is told more than the cache knows.
    StoreFirst,
    /// A source has one list under way at most, and one watch.
    OneAtATime,
    /// What waits stays within its bounds.
    Bounded,
    /// Nothing of a stopped informer runs.
    OverIsOver,
    /// It goes on by itself.
    GoesOn,
    /// Nobody is busy for ever with one moment.
    TimePasses,
    /// What is restored was the state of the server, whole and none older than before, or nothing is.
    Restored,
    /// What is calm and ends in good order is saved in full.
    SavedInFull,
    /// What a follower of differences keeps, and is told in one life after the other, adds up to the cache.
    Remembered,
}

/// All that is left of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What happened, line by line.
    pub lines: Vec<String>,
    /// How often what happened.
    pub tally: Tally,
    /// The first rule that was broken.
    pub broken: Option<Broken>,
}

impl History {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let state = State {
            began: now,
            lines: Vec::new(),
            tally: Tally::default(),
            broken: None,
            moment: now,
            at_once: 0,
            standstill: Arc::default(),
        };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits until too much happens in one moment.
    pub(crate) async fn standstill(&self) {
        let standstill = Arc::clone(&self.lock().standstill);
        standstill.notified().await;
    }

    /// Something happens that is not worth a line.
    pub(crate) fn tick(&self) {
        self.lock().tick();
    }

    /// Time stands still.
    pub(crate) fn stands_still(&self) {
        self.lock().stands_still();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line.
    pub(crate) fn note(&self, line: fmt::Arguments<'_>) {
        let mut state = self.lock();
        state.tick();
        let at = state.began.elapsed().as_secs_f64();
        state.lines.push(format!("{at:>11.3} {line}"));
    }

    /// Counts something.
    pub(crate) fn count(&self, what: &str) {
        self.add(what, 1);
    }

    pub(crate) fn add(&self, what: &str, count: u64) {
        self.lock().tally.add(what, count);
    }

    /// A rule is broken. Only the first counts: what follows may follow from it.
    pub(crate) fn breach(&self, rule: Rule, detail: String) {
        self.note(format_args!("BROKEN {rule:?}: {detail}"));
        let mut state = self.lock();
        let line = state.lines.len() - 1;
        state.broken.get_or_insert(Broken { rule, detail, line });
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.lock().broken.is_some()
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let state = self.lock();
        Outcome { lines: state.lines.clone(), tally: state.tally.clone(), broken: state.broken.clone() }
    }
}

impl State {
    fn tick(&mut self) {
        let now = Instant::now();
        if self.moment != now {
            (self.moment, self.at_once) = (now, 0);
        }
        self.at_once += 1;
        if self.at_once == AT_ONCE {
            self.stands_still();
        }
    }

    fn stands_still(&mut self) {
        let line = self.lines.len().saturating_sub(1);
        let detail = format!("no end of it at {:?}", self.moment - self.began);
        self.broken.get_or_insert(Broken { rule: Rule::TimePasses, detail, line });
        self.standstill.notify_one();
    }
}

impl Outcome {
    /// One number that stands for the whole history.
    #[must_use]
    pub fn digest(&self) -> u64 {
        // Without keys of its own it is the same in every process.
        let mut hasher = DefaultHasher::new();
        self.lines.hash(&mut hasher);
        hasher.finish()
    }

    /// The lines around the break, or the last ones.
    #[must_use]
    pub fn excerpt(&self, before: usize, after: usize) -> &[String] {
        let at = self.broken.as_ref().map_or(self.lines.len(), |broken| broken.line);
        &self.lines[at.saturating_sub(before)..(at + after + 1).min(self.lines.len())]
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CacheIsServer => "the cache is what the server has",
            Self::NeverBack => "versions never go back",
            Self::WasSo => "what is cached or told was so on the server",
            Self::IndexAgrees => "indexes agree with the objects",
            Self::ToldInOrder => "no event is lost or repeated",
            Self::AddsUp => "what a follower was told adds up to the cache",
            Self::AllAlike => "followers that are told everything are told the same",
            Self::EveryWrite => "without a list, every write is told once and in order",
            Self::WatchOrder => "without a list, changes of one watch are told in its order",
            Self::NoNeedlessList => "no list is asked for where a watch can go on",
            Self::StoreFirst => "nobody is told more than the cache knows",
            Self::OneAtATime => "one list and one watch at a time",
            Self::Bounded => "what waits stays within its bounds",
            Self::OverIsOver => "nothing runs after stop",
            Self::GoesOn => "it goes on by itself",
            Self::TimePasses => "time passes",
            Self::Restored => "what is restored is a state that the server had",
            Self::SavedInFull => "what ends in good order is saved in full",
            Self::Remembered => "what is told in one life after the other adds up",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn what_has_no_end_is_noticed() {
        let history = History::new();
        let busy = || (1..AT_ONCE).for_each(|_| history.tick());
        busy();
        tokio::time::advance(Duration::from_millis(1)).await;
        busy();
        assert!(!history.is_broken());
        history.tick();
        assert_eq!(history.outcome().broken.map(|broken| broken.rule), Some(Rule::TimePasses));
        history.standstill().await;
    }
}
