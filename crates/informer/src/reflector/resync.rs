//! Schedules resyncs.

use std::time::Duration;
use tokio::time::Instant;

/// The timer of resyncs.
pub(super) struct Resync {
    period: Duration,
    /// When the next resync is due, while a watch is open.
    due: Option<Instant>,
    should_resync: Box<dyn Fn() -> bool + Send>,
}

impl Resync {
    /// Creates a timer with this period; zero means never.
    pub(super) fn every(period: Duration) -> Self {
        Self { period, due: None, should_resync: Box::new(|| true) }
    }

    /// Sets a predicate that is checked before each resync.
    pub(super) fn set_predicate(&mut self, should_resync: impl Fn() -> bool + Send + 'static) {
        self.should_resync = Box::new(should_resync);
    }

    /// Returns whether the due resync should happen.
    pub(super) fn should_resync(&self) -> bool {
        (self.should_resync)()
    }

    /// Returns when the next resync is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Schedules the next resync one period from now.
    pub(super) fn arm(&mut self) {
        self.due = Instant::now().checked_add(self.period).filter(|_| !self.period.is_zero());
    }

    /// Cancels the next resync.
    pub(super) fn disarm(&mut self) {
        self.due = None;
    }
}
