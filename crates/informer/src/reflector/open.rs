//! What is known of a watch that is open.

use std::time::Duration;
use tokio::time::Instant;

/// An open watch.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) asked: Instant,
    /// When the server ends it, if it is alive.
    pub(super) ends: Instant,
    /// When something came last.
    pub(super) alive: Instant,
    /// Whether the server has said yes.
    pub(super) is_accepted: bool,
    /// How many events counted.
    pub(super) events: u64,
    /// Whether additions may be made up by the server, and their versions say nothing of what was seen.
    pub(super) is_synthetic: bool,
}

impl Open {
    pub(super) fn new(now: Instant, timeout: Duration) -> Self {
        Self {
            asked: now,
            ends: now + timeout,
            alive: now,
            is_accepted: false,
            events: 0,
            is_synthetic: true,
        }
    }

    pub(super) fn event_came(&mut self, now: Instant) {
        self.events += 1;
        self.alive = now;
    }
}
