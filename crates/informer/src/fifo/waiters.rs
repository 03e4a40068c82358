//! Who waits for a locked state to change.

use std::task::Waker;

/// The wakers of those who wait. All are woken, so one that was dropped while waiting takes nobody's turn.
#[derive(Debug, Default)]
pub(super) struct Waiters(Vec<Waker>);

impl Waiters {
    pub(super) fn register(&mut self, waker: &Waker) {
        if !self.0.iter().any(|known| known.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    pub(super) fn take(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.0)
    }
}
