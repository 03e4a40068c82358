//! When everything known is told again.

use std::time::Duration;
use tokio::time::Instant;

/// The timer of resyncs.
pub(super) struct Resync {
    period: Duration,
    /// When the next one is due, while a watch goes on.
    due: Option<Instant>,
    is_wanted: Box<dyn Fn() -> bool + Send>,
}

impl Resync {
    /// Every so often; zero means never.
    pub(super) fn every(period: Duration) -> Self {
        Self { period, due: None, is_wanted: Box::new(|| true) }
    }

    /// Asks this before each.
    pub(super) fn ask(&mut self, is_wanted: impl Fn() -> bool + Send + 'static) {
        self.is_wanted = Box::new(is_wanted);
    }

    /// Whether the one that is due is wanted.
    pub(super) fn is_wanted(&self) -> bool {
        (self.is_wanted)()
    }

    /// When the next one is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Counts from now.
    pub(super) fn arm(&mut self) {
        self.due = Instant::now().checked_add(self.period).filter(|_| !self.period.is_zero());
    }

    /// Stops counting.
    pub(super) fn disarm(&mut self) {
        self.due = None;
    }
}
