//! Waiting until the queue is idle.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::locked_state::Shared;
use crate::order::Order;
use crate::waiters::WaiterId;

/// Waits until no item is ready or being processed. Dropping the future passes its wake-up on.
pub(crate) struct Idle<'a, T, O: Order> {
    shared: &'a Shared<T, O>,
    id: Option<WaiterId>,
}

impl<'a, T, O: Order> Idle<'a, T, O> {
    pub(crate) fn new(shared: &'a Shared<T, O>) -> Self {
        Self { shared, id: None }
    }
}

impl<T, O: Order> Future for Idle<'_, T, O> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.shared.update(|state| state.poll_idle(&mut this.id, cx.waker()))
    }
}

impl<T, O: Order> Drop for Idle<'_, T, O> {
    fn drop(&mut self) {
        if self.id.is_some() {
            self.shared.update(|state| state.remove_idler(&mut self.id));
        }
    }
}
