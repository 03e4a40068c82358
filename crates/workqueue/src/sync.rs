//! The lock and the clock, in one place so that the model tests can replace them.

use std::sync::PoisonError;

pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use tokio::time::{Instant, Sleep, sleep_until};

/// Locks the mutex and ignores poisoning, because a worker that panics must still release its item.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now() -> Instant {
    Instant::now()
}
