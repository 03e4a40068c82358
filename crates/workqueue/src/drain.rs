//! Waiting for the last item to be done.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::locked_state::Shared;
use crate::order::Order;
use crate::waiters::WaiterId;

/// Waits for the end of a drain. Dropping the future passes its wake-up on.
pub(crate) struct Drain<'a, T, O: Order> {
    shared: &'a Shared<T, O>,
    id: Option<WaiterId>,
}

impl<'a, T, O: Order> Drain<'a, T, O> {
    pub(crate) fn new(shared: &'a Shared<T, O>) -> Self {
        Self { shared, id: None }
    }
}

impl<T, O: Order> Future for Drain<'_, T, O> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.shared.update(|state| state.poll_drain(&mut this.id, cx.waker()))
    }
}

impl<T, O: Order> Drop for Drain<'_, T, O> {
    fn drop(&mut self) {
        if self.id.is_some() {
            self.shared.update(|state| state.remove_drainer(&mut self.id));
        }
    }
}
