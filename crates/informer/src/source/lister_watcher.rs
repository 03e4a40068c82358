//! The interface of a source: list a page, open a watch.

use super::{content_type::ContentType, error::Error};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, ItemError, RawObject};
use futures_core::Stream;
use futures_util::StreamExt;
use kube_informer_wire::{ListMeta, ListOptions, WatchEvent, WatchOptions};
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::Instant;

/// Called for each item of a page as it arrives, or with the error of an item that is skipped.
pub type OnItem<'a, K> = &'a mut (dyn FnMut(Result<RawObject<K>, ItemError>) + Send);

/// A source of objects that can be listed and watched.
///
/// [`ListWatch`](super::ListWatch) requests them from a Kubernetes API server, [`FromFns`](super::FromFns) calls two functions.
pub trait ListerWatcher<K>: Send + Sync {
    /// Lists one page: calls `on_item` for each item, and returns the metadata of the page.
    ///
    /// # Errors
    /// Any error before the end of the page. `on_item` has been called for the items before it.
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>>;

    /// Opens a watch.
    ///
    /// # Errors
    /// Any error before the watch is open.
    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>>;

    /// Returns true if the initial list can be streamed by a watch (`sendInitialEvents`).
    fn can_stream_lists(&self) -> bool {
        true
    }

    /// Returns the kind of the objects for logs and reports, such as `apps/v1 Deployment`. The default is the name of the type.
    fn describe(&self) -> String {
        std::any::type_name::<K>().to_owned()
    }

    /// Returns the number of bytes read so far; `None` if they are not counted.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// Returns the time at which the last byte was read; `None` before the first, or if bytes are not counted. A watch that
    /// receives part of a large event is then not considered dead.
    fn last_read_at(&self) -> Option<Instant> {
        None
    }

    /// Returns the encoding of the last response; `None` before the first, or if the source does not deliver bytes.
    fn content_type(&self) -> Option<ContentType> {
        None
    }

    /// Returns the decoder of its objects, also for bytes that an earlier process saved; `None` if the source does not
    /// deliver bytes.
    fn decoder(&self) -> Option<Decoder<K>> {
        None
    }
}

/// An open watch. Dropping it closes it.
pub struct Watch<K>(Pin<Box<dyn Stream<Item = Event<K>> + Send>>);

type Event<K> = Result<WatchEvent<RawObject<K>>, Error>;

impl<K> Watch<K> {
    /// Creates a watch from a stream of objects.
    pub fn new(events: impl Stream<Item = Result<WatchEvent<K>, Error>> + Send + 'static) -> Self {
        Self::from_raw(events.map(|event| Ok(event?.map(RawObject::from))))
    }

    /// Creates a watch from a stream of objects that may not be decoded yet.
    pub fn from_raw(
        events: impl Stream<Item = Result<WatchEvent<RawObject<K>>, Error>> + Send + 'static,
    ) -> Self {
        // Events are drained until the stream is not ready, which polls past its end.
        Self(Box::pin(events.fuse()))
    }

    /// Waits for the next event; `None` at the end of the watch.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<RawObject<K>>, Error>> {
        std::future::poll_fn(|context| self.0.as_mut().poll_next(context)).await
    }
}

impl<K> Stream for Watch<K> {
    type Item = Event<K>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl<K> fmt::Debug for Watch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl<K, L: ListerWatcher<K> + ?Sized> ListerWatcher<K> for std::sync::Arc<L> {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        (**self).list(options, on_item)
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        (**self).watch(options)
    }

    fn can_stream_lists(&self) -> bool {
        (**self).can_stream_lists()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn bytes_read(&self) -> Option<u64> {
        (**self).bytes_read()
    }

    fn last_read_at(&self) -> Option<Instant> {
        (**self).last_read_at()
    }

    fn content_type(&self) -> Option<ContentType> {
        (**self).content_type()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        (**self).decoder()
    }
}
