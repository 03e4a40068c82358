//! Waiting for an item.
//!
//! There is no background task. One of the waiting futures, the timer owner in [`State`](crate::state::State), has a
//! timer for the next delayed item, and passes this task on when it completes or is dropped. If no future waits, no
//! timer is needed: every operation first makes the due items ready.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::locked_state::Shared;
use crate::order::Order;
use crate::processing::Processing;
use crate::state::GetPoll;
use crate::sync::{Instant, Sleep, sleep_until};
use crate::waiters::WaiterId;

/// Waits for the next item. Dropping the future passes its wake-up on.
pub(crate) struct Get<'a, T, O: Order> {
    shared: &'a Arc<Shared<T, O>>,
    id: Option<WaiterId>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T, O: Order> Get<'a, T, O> {
    pub(crate) fn new(shared: &'a Arc<Shared<T, O>>) -> Self {
        Self { shared, id: None, timer: None }
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
            match this.shared.update(|state| state.poll_get(&mut this.id, cx.waker())) {
                GetPoll::Taken(taken) => {
                    return Poll::Ready(Some(Processing::new(taken, Arc::clone(this.shared))));
                }
                GetPoll::Finished => return Poll::Ready(None),
                GetPoll::Waiting(None) => {
                    this.timer = None;
                    return Poll::Pending;
                }
                GetPoll::Waiting(Some(until)) => {
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
        if self.id.is_some() {
            self.shared.update(|state| state.remove_getter(&mut self.id));
        }
    }
}
