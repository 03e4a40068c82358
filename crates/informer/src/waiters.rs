//! Wakers of tasks that wait for a locked state to change.

use std::task::Waker;

/// The wakers of waiting tasks. A change wakes all of them, so a wake-up is not lost if a task stops waiting.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    wakers: Vec<(u64, Waker)>,
    issued: u64,
    /// The newest ticket whose waker has been taken.
    taken: u64,
}

/// Identifies a waiting task.
#[derive(Debug, Default)]
pub(crate) struct Ticket(Option<u64>);

impl Ticket {
    /// Returns whether the task has waited.
    pub(crate) fn is_issued(&self) -> bool {
        self.0.is_some()
    }
}

impl Waiters {
    /// Registers a waker, or replaces the one that is registered for this ticket.
    pub(crate) fn register(&mut self, ticket: &mut Ticket, waker: &Waker) {
        let is_registered = ticket.0.is_some_and(|number| number > self.taken);
        let known =
            is_registered.then(|| self.wakers.iter_mut().find(|(number, _)| Some(*number) == ticket.0));
        match known.flatten() {
            Some((_, known)) => known.clone_from(waker),
            None => {
                self.issued += 1;
                ticket.0 = Some(self.issued);
                self.wakers.push((self.issued, waker.clone()));
            }
        }
    }

    /// Removes the waker of this ticket.
    pub(crate) fn leave(&mut self, ticket: &Ticket) {
        self.wakers.retain(|(number, _)| Some(*number) != ticket.0);
    }

    /// Removes all wakers, to [`wake`] them once the lock is released.
    pub(crate) fn take(&mut self) -> Vec<(u64, Waker)> {
        self.taken = self.issued;
        std::mem::take(&mut self.wakers)
    }
}

/// Wakes all tasks.
pub(crate) fn wake(waiters: Vec<(u64, Waker)>) {
    for (_, waker) in waiters {
        waker.wake();
    }
}
