//! A lister-watcher out of two functions.

use super::{
    error::Error,
    lister_watcher::{ListerWatcher, OnItem, Watch},
};
use crate::boxed::BoxFuture;
use kube_informer_wire::{ListMeta, ListOptions, ResourceVersion, WatchOptions};
use std::fmt;

/// One page of a list, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<K> {
    /// The objects.
    pub items: Vec<K>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// What to send for the next page; nothing on the last one.
    pub continue_token: Option<String>,
}

/// client-go's `ListWatch{ListFunc, WatchFunc}`: lists and watches by calling what it was given.
///
/// ```
/// use futures_util::stream;
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::source::{FromFns, Page, Watch};
///
/// let nothing = FromFns::new(
///     |_options| async { Ok(Page::<Pod> { items: Vec::new(), version: None, continue_token: None }) },
///     |_options| async { Ok(Watch::new(stream::pending())) },
/// );
/// ```
pub struct FromFns<L, W> {
    list: L,
    watch: W,
    streams: Streams,
}

/// Whether a source can send the initial state as a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    Yes,
    No,
}

impl<L, W> FromFns<L, W> {
    /// Lists with `list`, watches with `watch`.
    pub fn new<K, LF, WF>(list: L, watch: W) -> Self
    where
        L: Fn(ListOptions) -> LF + Send + Sync,
        LF: Future<Output = Result<Page<K>, Error>> + Send,
        W: Fn(WatchOptions) -> WF + Send + Sync,
        WF: Future<Output = Result<Watch<K>, Error>> + Send,
    {
        Self { list, watch, streams: Streams::Yes }
    }

    /// Says that the watch function knows nothing of `sendInitialEvents`.
    #[must_use]
    pub fn without_streaming_lists(mut self) -> Self {
        self.streams = Streams::No;
        self
    }
}

impl<K, L, LF, W, WF> ListerWatcher<K> for FromFns<L, W>
where
    K: Send + 'static,
    L: Fn(ListOptions) -> LF + Send + Sync,
    LF: Future<Output = Result<Page<K>, Error>> + Send,
    W: Fn(WatchOptions) -> WF + Send + Sync,
    WF: Future<Output = Result<Watch<K>, Error>> + Send,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        each: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let page = (self.list)(options.clone()).await?;
            page.items.into_iter().for_each(|item| each(Ok(item.into())));
            let mut meta = ListMeta::default();
            meta.version = page.version;
            meta.continue_token = page.continue_token;
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move { (self.watch)(options.clone()).await })
    }

    fn can_stream_lists(&self) -> bool {
        self.streams == Streams::Yes
    }
}

impl<L, W> fmt::Debug for FromFns<L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFns").field("streams", &self.streams).finish_non_exhaustive()
    }
}
