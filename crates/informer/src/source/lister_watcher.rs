//! What a reflector needs of a source: to list a page and to open a watch.

use super::{content_type::Encoded, error::Error};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, Item, ItemError};
use futures_core::Stream;
use futures_util::StreamExt;
use kube_informer_wire::{ListMeta, ListOptions, WatchEvent, WatchOptions};
use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// Takes the items of a page one by one, as they arrive. One that is left out comes as its error.
pub type Each<'a, K> = &'a mut (dyn FnMut(Result<Item<K>, ItemError>) + Send);

/// A source of objects that can be listed and watched.
///
/// [`ListWatch`](super::ListWatch) is the one for a Kubernetes API server, [`FromFns`](super::FromFns) makes one out of
/// two functions.
pub trait ListerWatcher<K>: Send + Sync {
    /// Lists one page: hands each item on, then tells what the page says of itself.
    ///
    /// # Errors
    /// Whatever keeps the page from being read to its end. Items that came before it have been handed on.
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        each: Each<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>>;

    /// Opens a watch.
    ///
    /// # Errors
    /// Whatever keeps the watch from being opened.
    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>>;

    /// Whether the initial state can be asked for as a watch (`sendInitialEvents`).
    fn can_stream_lists(&self) -> bool {
        true
    }

    /// What kind of objects these are, in words for logs and reports: `apps/v1 Deployment`, or else the name of the type.
    fn describe(&self) -> String {
        std::any::type_name::<K>().to_owned()
    }

    /// How many bytes of lists and watches were read so far; nothing where they are not counted.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// What the last answer was encoded in; nothing before the first, and where objects do not come as bytes.
    fn encoded(&self) -> Option<Encoded> {
        None
    }

    /// What decodes the bytes of its objects, also of those that came to an earlier process; nothing where objects do not come as
    /// bytes.
    fn decoder(&self) -> Option<Decoder<K>> {
        None
    }
}

/// An open watch. Dropping it ends it.
pub struct Watch<K>(Pin<Box<dyn Stream<Item = Event<K>> + Send>>);

type Event<K> = Result<WatchEvent<Item<K>>, Error>;

impl<K> Watch<K> {
    /// A watch that gives what `events` gives.
    pub fn new(events: impl Stream<Item = Result<WatchEvent<K>, Error>> + Send + 'static) -> Self {
        Self::of_items(events.map(|event| Ok(event?.map(Item::from))))
    }

    /// A watch that gives what `events` gives, of objects that need not be decoded yet.
    pub fn of_items(events: impl Stream<Item = Result<WatchEvent<Item<K>>, Error>> + Send + 'static) -> Self {
        // Whoever takes what is there looks behind the end of it.
        Self(Box::pin(events.fuse()))
    }

    /// The next event; nothing when the watch has ended.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has lost no event.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<Item<K>>, Error>> {
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
        each: Each<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        (**self).list(options, each)
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

    fn encoded(&self) -> Option<Encoded> {
        (**self).encoded()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        (**self).decoder()
    }
}
