//! Receives the events of an informer as a stream.

use super::{
    broadcaster::{Broadcaster, OnStop, Receiver},
    options::SubscribeOptions,
    reader::Chunk,
    registration::Registration,
};
use crate::event::Event;
use futures_core::Stream;
use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{task::coop::poll_proceed, time::Instant};

/// A stream of the events of an informer: every object in the cache as [`Event::Added`] with `Phase::Initial`, then every change.
///
/// It ends when the informer is stopped. An event is treated as handled when the next one is requested. Dropping the subscription
/// removes it from the informer.
pub struct Subscription<K> {
    /// `None` once the stream has ended.
    receiver: Option<Receiver<K>>,
    registration: Registration<K>,
    chunk: Option<Chunk<K>>,
    /// The number of events of the chunk that have been returned.
    returned: usize,
}

/// The maximum number of chunks without a matching event that are skipped in one poll.
const MAX_SKIPPED_CHUNKS: usize = 16;

impl<K> Subscription<K> {
    /// Subscribes to a broadcaster. The stream of a closed one is empty.
    pub(crate) fn new(broadcaster: &Arc<Broadcaster<K>>, options: SubscribeOptions<K>) -> Self {
        let receiver = Receiver(broadcaster.join(options, OnStop::Drain));
        let registration = Registration::new(Arc::clone(&receiver.0));
        Self { receiver: Some(receiver), registration, chunk: None, returned: 0 }
    }

    /// Returns the handle of this subscriber, which outlives the subscription.
    #[must_use]
    pub fn registration(&self) -> &Registration<K> {
        &self.registration
    }

    /// Waits for the next event; `None` once the informer is stopped or this subscriber is removed.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped before it completes.
    pub async fn next(&mut self) -> Option<Event<K>> {
        std::future::poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event<K>>> {
        let Some(receiver) = &mut self.receiver else { return Poll::Ready(None) };
        // A long backlog must not monopolize the thread.
        let budget = ready!(poll_proceed(context));
        for _ in 0..MAX_SKIPPED_CHUNKS {
            if receiver.is_closed() {
                self.chunk = None;
            }
            if let Some(chunk) = &self.chunk {
                while let Some(event) = chunk.events().get(self.returned) {
                    self.returned += 1;
                    receiver.set_undelivered(chunk.events().len() - self.returned);
                    if let Some(event) = receiver.config.filter.apply(event) {
                        budget.made_progress();
                        return Poll::Ready(Some(Cow::into_owned(event)));
                    }
                }
                receiver.handled_chunk(chunk, Instant::now());
            }
            self.chunk = None;
            self.returned = 0;
            self.chunk = ready!(receiver.poll_chunk(context));
            if self.chunk.is_none() {
                self.receiver = None;
                return Poll::Ready(None);
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

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
