//! Tasks that wait to be woken.

use std::collections::VecDeque;
use std::task::Waker;

/// The parked tasks, the one that has waited longest first.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    parked: VecDeque<(Ticket, Waker)>,
    issued: u64,
}

/// Names one waiting future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Waiters {
    /// Parks the future that holds `ticket`, which gets one if it has none.
    pub(crate) fn park(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> Ticket {
        let ticket = *ticket.get_or_insert_with(|| {
            self.issued += 1;
            Ticket(self.issued)
        });
        match self.parked.iter_mut().find(|(parked, _)| *parked == ticket) {
            Some((_, known)) => known.clone_from(waker),
            None => self.parked.push_back((ticket, waker.clone())),
        }
        ticket
    }

    pub(crate) fn pop(&mut self) -> Option<Waker> {
        self.parked.pop_front().map(|(_, waker)| waker)
    }

    /// Takes this one out of turn; `None` means that it was taken already.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Waker> {
        let at = self.parked.iter().position(|(parked, _)| *parked == ticket)?;
        self.parked.remove(at).map(|(_, waker)| waker)
    }
}
