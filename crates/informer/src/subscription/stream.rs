//! Following an informer as a stream.

use super::{follower::Follower, reader::Chunk, registration::Registration};
use crate::event::Event;
use futures_core::Stream;
use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::task::coop::poll_proceed;

/// The events of an informer: what there is, as [`Event::Added`] with `initial`, then what happens.
///
/// It is a [`Stream`], which ends when the informer is stopped. An event counts as handled when the next one is asked for.
/// Dropping it ends the subscription.
pub struct Subscription<K> {
    /// Nothing where the informer had been stopped before.
    follower: Option<Follower<K>>,
    registration: Registration<K>,
    chunk: Option<Chunk<K>>,
    /// How many events of the chunk have been seen.
    seen: usize,
}

impl<K> Subscription<K> {
    pub(super) fn new(follower: Option<Follower<K>>, registration: Registration<K>) -> Self {
        Self { follower, registration, chunk: None, seen: 0 }
    }

    /// Its place in the informer: whether it has synced, how far it is behind. Outlives the subscription.
    #[must_use]
    pub fn registration(&self) -> &Registration<K> {
        &self.registration
    }

    /// The next event; nothing once the informer is stopped.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has lost no event.
    pub async fn next(&mut self) -> Option<Event<K>> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let Some(follower) = &mut self.follower else { return Poll::Ready(None) };
        // A backlog is there at once, and must not keep the thread from others.
        let turn = ready!(poll_proceed(context));
        for _ in 0..CHUNKS {
            if follower.seat.has_left() {
                self.chunk = None;
            }
            if let Some(chunk) = &self.chunk {
                while let Some(event) = chunk.events().get(self.seen) {
                    self.seen += 1;
                    follower.seat.holds(chunk.events().len() - self.seen);
                    if let Some(event) = follower.seat.filter.view(event) {
                        turn.made_progress();
                        return Poll::Ready(Some(Cow::into_owned(event)));
                    }
                }
                follower.handled(chunk);
            }
            (self.seen, self.chunk) = (0, None);
            self.chunk = ready!(follower.poll_next(context));
            if self.chunk.is_none() {
                self.follower = None;
                return Poll::Ready(None);
            }
        }
        // None of that was meant for it. Others want the thread too.
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// So many chunks are looked through at a time.
const CHUNKS: usize = 16;

impl<K> Stream for Subscription<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(context)
    }
}

impl<K> fmt::Debug for Subscription<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("registration", &self.registration).finish_non_exhaustive()
    }
}
