//! The state behind the lock of a queue: the backlog and the futures that wait for it.

use std::task::{Poll, Waker};

use crate::backlog::{Backlog, Taken};
use crate::order::Order;
use crate::sync::Instant;
use crate::waiters::{WaiterId, Waiters};

/// The backlog with the futures that wait on it.
///
/// After every change, `select_wakers` picks at most one getter, one drainer and one idler to wake. A woken future calls it again
/// when it completes or is dropped, so the wake-up passes from future to future until none can make progress.
#[derive(Debug)]
pub(crate) struct State<T, O: Order> {
    pub(crate) backlog: Backlog<T, O>,
    getters: Waiters,
    drainers: Waiters,
    idlers: Waiters,
    timer_owner: Option<TimerOwner>,
}

/// The getter that has a timer set, and the time for which it is set.
#[derive(Debug)]
struct TimerOwner {
    id: WaiterId,
    until: Instant,
}

/// The result of polling for an item.
#[derive(Debug)]
pub(crate) enum GetPoll<T, L> {
    Taken(Taken<T, L>),
    Finished,
    /// No item is ready; the getter waits and must be polled again at this time, if any.
    Waiting(Option<Instant>),
}

/// Tasks to wake once the lock is released.
#[derive(Debug)]
#[must_use]
pub(crate) struct Wake {
    getter: Option<Waker>,
    drainer: Option<Waker>,
    idler: Option<Waker>,
}

impl Wake {
    pub(crate) fn wake(self) {
        [self.getter, self.drainer, self.idler].into_iter().flatten().for_each(Waker::wake);
    }
}

impl<T, O: Order> State<T, O> {
    pub(crate) fn new(backlog: Backlog<T, O>) -> Self {
        Self {
            backlog,
            getters: Waiters::default(),
            drainers: Waiters::default(),
            idlers: Waiters::default(),
            timer_owner: None,
        }
    }

    /// Returns true if a future waits. Otherwise `select_wakers` selects none, and is not worth its time.
    pub(crate) fn has_waiters(&self) -> bool {
        [&self.getters, &self.drainers, &self.idlers].into_iter().any(|waiters| !waiters.is_empty())
    }

    /// Selects the futures to wake.
    pub(crate) fn select_wakers(&mut self) -> Wake {
        let drainer = if self.backlog.is_drained() { self.drainers.pop() } else { None };
        let idler = if self.backlog.is_idle() { self.idlers.pop() } else { None };
        Wake { getter: self.next_getter(), drainer, idler }
    }

    pub(crate) fn poll_get(&mut self, id: &mut Option<WaiterId>, waker: &Waker) -> GetPoll<T, O::Level>
    where
        T: Clone,
    {
        if let Some(taken) = self.backlog.take() {
            self.remove_getter(id);
            return GetPoll::Taken(taken);
        }
        if self.backlog.is_finished() {
            self.remove_getter(id);
            return GetPoll::Finished;
        }
        let id = self.getters.register(id, waker);
        GetPoll::Waiting(self.claim_timer(id))
    }

    pub(crate) fn remove_getter(&mut self, id: &mut Option<WaiterId>) {
        if let Some(id) = id.take() {
            self.getters.remove(id);
            self.timer_owner.take_if(|owner| owner.id == id);
        }
    }

    pub(crate) fn poll_drain(&mut self, id: &mut Option<WaiterId>, waker: &Waker) -> Poll<()> {
        if self.backlog.is_drained() {
            self.remove_drainer(id);
            return Poll::Ready(());
        }
        self.drainers.register(id, waker);
        Poll::Pending
    }

    pub(crate) fn remove_drainer(&mut self, id: &mut Option<WaiterId>) {
        if let Some(id) = id.take() {
            self.drainers.remove(id);
        }
    }

    pub(crate) fn poll_idle(&mut self, id: &mut Option<WaiterId>, waker: &Waker) -> Poll<()> {
        if self.backlog.is_idle() {
            self.remove_idler(id);
            return Poll::Ready(());
        }
        self.idlers.register(id, waker);
        Poll::Pending
    }

    pub(crate) fn remove_idler(&mut self, id: &mut Option<WaiterId>) {
        if let Some(id) = id.take() {
            self.idlers.remove(id);
        }
    }

    fn next_getter(&mut self) -> Option<Waker> {
        if self.backlog.len() > 0 || self.backlog.is_finished() {
            return self.getters.pop();
        }
        let due = self.backlog.next_due()?;
        match &self.timer_owner {
            None => self.getters.pop(),
            Some(owner) if due < owner.until => self.getters.remove(owner.id),
            Some(_) => None,
        }
    }

    /// Makes this getter set the timer for the next delayed item, unless another getter has set it already.
    fn claim_timer(&mut self, id: WaiterId) -> Option<Instant> {
        let due = self.backlog.next_due();
        if let Some(owner) = &self.timer_owner
            && owner.id != id
            && due.is_none_or(|due| owner.until <= due)
        {
            return None;
        }
        self.timer_owner = due.map(|until| TimerOwner { id, until });
        due
    }
}
