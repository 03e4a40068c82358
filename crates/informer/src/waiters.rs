//! Who waits for a locked state to change.

use std::task::Waker;

/// The wakers of those who wait. All are woken at a change, so one that is dropped while waiting takes nobody's turn.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    wakers: Vec<(u64, Waker)>,
    issued: u64,
    /// Tickets up to this one have been taken.
    taken: u64,
}

/// A place among those who wait.
#[derive(Debug, Default)]
pub(crate) struct Ticket(Option<u64>);

impl Ticket {
    /// Whether its holder has waited.
    pub(crate) fn is_issued(&self) -> bool {
        self.0.is_some()
    }
}

impl Waiters {
    /// Waits, or goes on waiting with another waker.
    pub(crate) fn register(&mut self, ticket: &mut Ticket, waker: &Waker) {
        let waits = ticket.0.is_some_and(|number| number > self.taken);
        let known = waits.then(|| self.wakers.iter_mut().find(|(number, _)| Some(*number) == ticket.0));
        match known.flatten() {
            Some((_, known)) => known.clone_from(waker),
            None => {
                self.issued += 1;
                ticket.0 = Some(self.issued);
                self.wakers.push((self.issued, waker.clone()));
            }
        }
    }

    /// Waits no longer.
    pub(crate) fn leave(&mut self, ticket: &Ticket) {
        self.wakers.retain(|(number, _)| Some(*number) != ticket.0);
    }

    /// Takes everyone, to be woken once the lock is released.
    pub(crate) fn take(&mut self) -> Vec<(u64, Waker)> {
        self.taken = self.issued;
        std::mem::take(&mut self.wakers)
    }
}

/// Wakes them.
pub(crate) fn wake(waiters: Vec<(u64, Waker)>) {
    waiters.into_iter().for_each(|(_, waker)| waker.wake());
}
