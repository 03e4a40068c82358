//! Waiting for an item.
//!
//! There is no background task. The futures that wait here keep the time themselves: one of them, the watch in
//! [`State`](crate::state::State), has a timer for the next delayed item, and hands that duty on when it leaves.
//! When none waits, no timer is needed: whoever next touches the queue first makes ready what has come due.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::hub::Hub;
use crate::order::Order;
use crate::processing::Processing;
use crate::state::Turn;
use crate::sync::{Instant, Sleep, sleep_until};
use crate::waiters::Ticket;

/// A future for the next item; dropping it gives up its place, and passes its wake-up on.
pub(crate) struct Get<'a, T, O: Order> {
    shared: &'a Arc<Hub<T, O>>,
    ticket: Option<Ticket>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T, O: Order> Get<'a, T, O> {
    pub(crate) fn new(shared: &'a Arc<Hub<T, O>>) -> Self {
        Self { shared, ticket: None, timer: None }
    }

    fn poll_timer(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(cx)
    }
}

impl<T: Clone, O: Order> Future for Get<'_, T, O> {
    type Output = Option<Processing<T, O>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            match this.shared.update(|state| state.poll_get(&mut this.ticket, cx.waker())) {
                Turn::Taken(taken) => {
                    return Poll::Ready(Some(Processing::new(taken, Arc::clone(this.shared))));
                }
                Turn::Finished => return Poll::Ready(None),
                Turn::Parked(None) => {
                    this.timer = None;
                    return Poll::Pending;
                }
                Turn::Parked(Some(until)) => {
                    if this.poll_timer(until, cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

impl<T, O: Order> Drop for Get<'_, T, O> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.shared.update(|state| state.leave_get(&mut self.ticket));
        }
    }
}
