//! The state that all handles of a queue share.

use std::hash::{BuildHasher, Hash, RandomState};

use crate::limiter::RateLimiter;
use crate::order::Order;
use crate::state::State;
use crate::sync::{Mutex, lock, now};

pub(crate) type BoxedLimiter<T> = Box<dyn RateLimiter<T> + Send>;

pub(crate) struct Shared<T, O: Order> {
    state: Mutex<State<T, O>>,
    limiter: Mutex<BoxedLimiter<T>>,
    hasher: RandomState,
}

impl<T, O: Order> Shared<T, O> {
    pub(crate) fn new(state: State<T, O>, limiter: BoxedLimiter<T>) -> Self {
        Self { state: Mutex::new(state), limiter: Mutex::new(limiter), hasher: RandomState::default() }
    }

    /// Applies a change under the lock, then wakes the affected futures.
    ///
    /// Every operation uses this, so that each sees the items that are due.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut State<T, O>) -> R) -> R {
        let mut state = lock(&self.state);
        if state.backlog.needs_clock() {
            state.backlog.advance(now());
        }
        let outcome = change(&mut state);
        let wake = if state.has_waiters() { Some(state.select_wakers()) } else { None };
        drop(state);
        if let Some(wake) = wake {
            wake.wake();
        }
        outcome
    }

    pub(crate) fn limit<R>(&self, use_limiter: impl FnOnce(&mut BoxedLimiter<T>) -> R) -> R {
        use_limiter(&mut lock(&self.limiter))
    }

    /// Hashes with this queue's random seed, outside the lock.
    pub(crate) fn hash(&self, item: &T) -> u64
    where
        T: Hash,
    {
        self.hasher.hash_one(item)
    }
}
