//! The lock and the clock, in one place so that the model tests can put their own here.

use std::sync::PoisonError;

pub(crate) use std::sync::{Mutex, MutexGuard};
pub(crate) use tokio::time::{Instant, Sleep, sleep_until};

/// Locks, also after a panic: a worker that unwinds must still be able to hand its item back.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now() -> Instant {
    Instant::now()
}
