//! The lock and the clock of the model: shuttle schedules the tasks, and a timer may fire at any time.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll};

pub(crate) use shuttle::sync::{Mutex, MutexGuard};
pub(crate) use tokio::time::Instant;

thread_local! {
    // Shuttle runs all tasks of a test on one thread, so this is the test's clock.
    static CLOCK: Cell<Instant> = Cell::new(Instant::now());
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn now() -> Instant {
    CLOCK.get()
}

/// A timer that yields to other tasks once and then advances the clock to its deadline.
pub(crate) struct Sleep {
    deadline: Instant,
    has_waited: bool,
}

pub(crate) fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, has_waited: false }
}

impl Sleep {
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        *self = sleep_until(deadline);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_waited {
            CLOCK.set(CLOCK.get().max(self.deadline));
            return Poll::Ready(());
        }
        self.has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
