//! An open watch.

use crate::{
    ingest::event_len,
    object::RawObject,
    source::{Error, Watch},
};
use futures_util::FutureExt;
use kube_informer_wire::WatchEvent;
use metrics::Histogram;
use tokio::time::Instant;
use tracing::Span;

/// An open watch. Records how long it was open when it is dropped.
pub(super) struct WatchSession<K> {
    watch: Watch<K>,
    pub(super) span: Span,
    opened: Instant,
    duration: Histogram,
}

/// A watch event, or the error in its place.
pub(super) type RawEvent<K> = Result<WatchEvent<RawObject<K>>, Error>;

/// The maximum number of events in a batch.
const BATCH: usize = 64;

/// The number of bytes at which a batch is full.
const BATCH_BYTES: usize = 512 << 10;

impl<K> WatchSession<K> {
    pub(super) fn new(watch: Watch<K>, span: Span, duration: Histogram) -> Self {
        Self { watch, span, opened: Instant::now(), duration }
    }

    /// Waits for the next event; `None` at the end of the watch.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub(super) async fn next(&mut self) -> Option<RawEvent<K>> {
        self.watch.next().await
    }

    /// Returns `first` with the events that have arrived since, without waiting for more. The batch ends at an error.
    pub(super) fn drain_ready(&mut self, first: RawEvent<K>) -> Vec<RawEvent<K>> {
        let mut bytes = event_len(&first);
        let mut events = vec![first];
        while events.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(Ok(_)) = events.last()
            && let Some(Some(event)) = self.watch.next().now_or_never()
        {
            bytes += event_len(&event);
            events.push(event);
        }
        events
    }
}

impl<K> Drop for WatchSession<K> {
    fn drop(&mut self) {
        self.duration.record(self.opened.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Decoder;
    use futures_util::{StreamExt, stream};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_informer_wire::{Format, ManagedFields, Raw};

    fn event(bytes: usize) -> RawEvent<ConfigMap> {
        let decoder = Decoder::new(|raw: &Raw| Ok(raw.decode(ManagedFields::Keep)?));
        let raw = Raw::new(Format::Json, " ".repeat(bytes).into());
        Ok(WatchEvent::Added(RawObject::encoded(raw, decoder)))
    }

    async fn batches(events: Vec<RawEvent<ConfigMap>>) -> Vec<usize> {
        let watch = Watch::from_raw(stream::iter(events).chain(stream::pending()));
        let mut session = WatchSession::new(watch, Span::none(), Histogram::noop());
        let mut lengths = Vec::new();
        while let Some(Some(first)) = session.next().now_or_never() {
            lengths.push(session.drain_ready(first).len());
        }
        lengths
    }

    #[tokio::test]
    async fn events_that_are_ready_form_a_batch_up_to_a_number_and_a_size() {
        assert_eq!(batches((0..3).map(|_| event(1)).collect()).await, [3]);
        assert_eq!(batches((0..BATCH + 1).map(|_| event(1)).collect()).await, [BATCH, 1]);
        assert_eq!(batches((0..3).map(|_| event(BATCH_BYTES / 2)).collect()).await, [2, 1]);
    }

    #[tokio::test]
    async fn a_batch_ends_at_an_error() {
        let cut = || Err(Error::Transport("cut".into()));
        assert_eq!(batches(vec![event(1), cut(), event(1), event(1)]).await, [2, 2]);
    }

    #[tokio::test]
    async fn a_watch_that_must_not_be_polled_after_its_end_is_not() {
        let mut polled = 0;
        let events = stream::poll_fn(move |_| {
            polled += 1;
            assert!(polled < 3, "polled after the end");
            std::task::Poll::Ready((polled == 1).then(|| event(1)))
        });
        let mut session = WatchSession::new(Watch::from_raw(events), Span::none(), Histogram::noop());
        let first = session.next().await.unwrap();
        assert_eq!(session.drain_ready(first).len(), 1);
        assert!(session.next().await.is_none());
    }
}
