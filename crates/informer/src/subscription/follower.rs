//! The reading end of a seat: waits for what is to be told next.

use super::{broadcaster::Hub, reader::Chunk, subscriber::Seat};
use crate::waiters::Ticket;
use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
};

/// Takes what a follower is told. Dropping it lets the follower go.
pub(super) struct Follower<K> {
    pub(super) hub: Arc<Hub<K>>,
    pub(super) seat: Arc<Seat<K>>,
    ticket: Ticket,
}

impl<K> Follower<K> {
    pub(super) fn new(hub: Arc<Hub<K>>, seat: Arc<Seat<K>>) -> Self {
        Self { hub, seat, ticket: Ticket::default() }
    }

    /// Waits for the next events; nothing once the follower has left, or has read all there is of a closed hub.
    pub(super) async fn next(&mut self) -> Option<Chunk<K>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    pub(super) fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Chunk<K>>> {
        if self.seat.has_left() {
            return Poll::Ready(None);
        }
        if let Some(chunk) = self.seat.take() {
            return Poll::Ready(Some(chunk));
        }
        self.hub.register(&mut self.ticket, context.waker());
        // Asked when the close would wake it, and before looking once more: what was told before is still read.
        let is_closed = self.hub.is_closed();
        match self.seat.take() {
            Some(chunk) => Poll::Ready(Some(chunk)),
            None if is_closed || self.seat.has_left() => Poll::Ready(None),
            None => {
                // It may have passed over what was not meant for it, which is what others wait for.
                self.hub.progressed(&self.seat);
                Poll::Pending
            }
        }
    }

    /// The events of a chunk have been handled.
    pub(super) fn handled(&self, chunk: &Chunk<K>) {
        if let Some(received) = chunk.received() {
            self.seat.metrics.latency.record(received.elapsed());
        }
        self.seat.reached(chunk.reached);
        self.hub.progressed(&self.seat);
    }
}

impl<K> Drop for Follower<K> {
    fn drop(&mut self) {
        self.hub.unregister(&self.ticket);
        self.hub.leave(&self.seat);
        self.seat.finished.cancel();
    }
}
