//! What all handles of a queue share, behind its locks.

use std::hash::{BuildHasher, Hash, RandomState};

use crate::limiter::RateLimiter;
use crate::order::Order;
use crate::state::State;
use crate::sync::{Mutex, lock, now};

pub(crate) type BoxedLimiter<T> = Box<dyn RateLimiter<T> + Send>;

pub(crate) struct Hub<T, O: Order> {
    state: Mutex<State<T, O>>,
    limiter: Mutex<BoxedLimiter<T>>,
    hasher: RandomState,
}

impl<T, O: Order> Hub<T, O> {
    pub(crate) fn new(state: State<T, O>, limiter: BoxedLimiter<T>) -> Self {
        Self { state: Mutex::new(state), limiter: Mutex::new(limiter), hasher: RandomState::default() }
    }

    /// Applies a change under the lock, then wakes whom it concerns.
    ///
    /// Every operation comes through here, so each sees the items that have come due before it.
    pub(crate) fn update<R>(&self, change: impl FnOnce(&mut State<T, O>) -> R) -> R {
        let mut state = lock(&self.state);
        if state.backlog.is_timed() {
            state.backlog.advance(now());
        }
        let outcome = change(&mut state);
        let wake = state.settle();
        drop(state);
        wake.fire();
        outcome
    }

    pub(crate) fn limit<R>(&self, ask: impl FnOnce(&mut BoxedLimiter<T>) -> R) -> R {
        ask(&mut lock(&self.limiter))
    }

    /// Hashes with this queue's random seed, outside the lock.
    pub(crate) fn hash(&self, item: &T) -> u64
    where
        T: Hash,
    {
        self.hasher.hash_one(item)
    }
}
