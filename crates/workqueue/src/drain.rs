//! Waiting for the last item to be done.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::hub::Hub;
use crate::order::Order;
use crate::waiters::Ticket;

/// A future for the end of a drain; dropping it leaves the queue as it is, and passes its wake-up on.
pub(crate) struct Drain<'a, T, O: Order> {
    shared: &'a Hub<T, O>,
    ticket: Option<Ticket>,
}

impl<'a, T, O: Order> Drain<'a, T, O> {
    pub(crate) fn new(shared: &'a Hub<T, O>) -> Self {
        Self { shared, ticket: None }
    }
}

impl<T, O: Order> Future for Drain<'_, T, O> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.shared.update(|state| state.poll_drain(&mut this.ticket, cx.waker()))
    }
}

impl<T, O: Order> Drop for Drain<'_, T, O> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.shared.update(|state| state.leave_drain(&mut self.ticket));
        }
    }
}
