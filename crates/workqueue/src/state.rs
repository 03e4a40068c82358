//! What the lock guards: the backlog, and who waits for it.

use std::task::{Poll, Waker};

use crate::backlog::{Backlog, Taken};
use crate::order::Order;
use crate::sync::Instant;
use crate::waiters::{Ticket, Waiters};

/// The backlog with the futures that wait on it.
///
/// After every change, `settle` picks at most one getter and one drainer to wake. Whoever was woken and leaves, with
/// an item or without, settles again; so one wake-up passes from future to future until nobody can go on, and a
/// future dropped between its wake-up and its next poll passes it on too.
#[derive(Debug)]
pub(crate) struct State<T, O: Order> {
    pub(crate) backlog: Backlog<T, O>,
    getters: Waiters,
    drainers: Waiters,
    watch: Option<Watch>,
}

/// The one getter that has a timer set, and for when.
#[derive(Debug)]
struct Watch {
    ticket: Ticket,
    until: Instant,
}

/// How a poll for an item ended.
#[derive(Debug)]
pub(crate) enum Turn<T, L> {
    Taken(Taken<T, L>),
    Finished,
    /// Nothing is ready; the getter is parked and must be polled again at this time, if there is one.
    Parked(Option<Instant>),
}

/// Tasks to wake once the lock is released.
#[derive(Debug)]
#[must_use]
pub(crate) struct Wake {
    getter: Option<Waker>,
    drainer: Option<Waker>,
}

impl Wake {
    pub(crate) fn fire(self) {
        [self.getter, self.drainer].into_iter().flatten().for_each(Waker::wake);
    }
}

impl<T, O: Order> State<T, O> {
    pub(crate) fn new(backlog: Backlog<T, O>) -> Self {
        Self { backlog, getters: Waiters::default(), drainers: Waiters::default(), watch: None }
    }

    /// Picks whom to wake.
    pub(crate) fn settle(&mut self) -> Wake {
        let drainer = if self.backlog.is_drained() { self.drainers.pop() } else { None };
        Wake { getter: self.next_getter(), drainer }
    }

    pub(crate) fn poll_get(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> Turn<T, O::Level>
    where
        T: Clone,
    {
        if let Some(taken) = self.backlog.take() {
            self.leave_get(ticket);
            return Turn::Taken(taken);
        }
        if self.backlog.is_finished() {
            self.leave_get(ticket);
            return Turn::Finished;
        }
        let ticket = self.getters.park(ticket, waker);
        Turn::Parked(self.watch_until(ticket))
    }

    pub(crate) fn leave_get(&mut self, ticket: &mut Option<Ticket>) {
        if let Some(ticket) = ticket.take() {
            self.getters.take(ticket);
            self.watch.take_if(|watch| watch.ticket == ticket);
        }
    }

    pub(crate) fn poll_drain(&mut self, ticket: &mut Option<Ticket>, waker: &Waker) -> Poll<()> {
        if self.backlog.is_drained() {
            self.leave_drain(ticket);
            return Poll::Ready(());
        }
        self.drainers.park(ticket, waker);
        Poll::Pending
    }

    pub(crate) fn leave_drain(&mut self, ticket: &mut Option<Ticket>) {
        if let Some(ticket) = ticket.take() {
            self.drainers.take(ticket);
        }
    }

    fn next_getter(&mut self) -> Option<Waker> {
        if self.backlog.len() > 0 || self.backlog.is_finished() {
            return self.getters.pop();
        }
        let due = self.backlog.next_due()?;
        match &self.watch {
            None => self.getters.pop(),
            Some(watch) if due < watch.until => self.getters.take(watch.ticket),
            Some(_) => None,
        }
    }

    /// Makes this getter the one that watches the clock, unless another does.
    fn watch_until(&mut self, ticket: Ticket) -> Option<Instant> {
        let due = self.backlog.next_due();
        if let Some(watch) = &self.watch
            && watch.ticket != ticket
            && due.is_none_or(|due| watch.until <= due)
        {
            return None;
        }
        self.watch = due.map(|until| Watch { ticket, until });
        due
    }
}
