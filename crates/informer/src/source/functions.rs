//! A source that calls two functions.

use super::{
    error::Error,
    lister_watcher::{ListerWatcher, OnItem, Watch},
};
use crate::boxed::BoxFuture;
use kube_informer_wire::{ListMeta, ListOptions, ResourceVersion, WatchOptions};
use std::fmt;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<K> {
    /// The objects.
    pub items: Vec<K>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// The token of the next page; `None` for the last page.
    pub continue_token: Option<String>,
}

impl<K> Page<K> {
    /// Calls `on_item` for each item, and returns the metadata of the page.
    pub(super) fn emit(self, on_item: OnItem<'_, K>) -> ListMeta {
        for item in self.items {
            on_item(Ok(item.into()));
        }
        let mut meta = ListMeta::default();
        meta.version = self.version;
        meta.continue_token = self.continue_token;
        meta
    }
}

/// A source that calls a function to list and another one to watch: client-go's `ListWatch{ListFunc, WatchFunc}`.
///
/// ```
/// use futures_util::stream;
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::source::{FromFns, Page, Pager, Watch};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let source = FromFns::new(
///     |_options| async { Ok(Page { items: vec![Pod::default()], version: None, continue_token: None }) },
///     |_options| async { Ok(Watch::new(stream::pending())) },
/// );
/// let list = Pager::new(&source).list::<Pod>(&Default::default()).await?;
/// assert_eq!(list.items.len(), 1);
/// # Ok(()) }
/// ```
pub struct FromFns<L, W> {
    list: L,
    watch: W,
    streaming_lists: StreamingLists,
}

/// Whether the watch function supports `sendInitialEvents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamingLists {
    Supported,
    Unsupported,
}

impl<L, W> FromFns<L, W> {
    /// Creates a source that lists with `list` and watches with `watch`. It is listed with `list` unless
    /// [`with_streaming_lists`](Self::with_streaming_lists) is called.
    pub fn new<K, LF, WF>(list: L, watch: W) -> Self
    where
        L: Fn(ListOptions) -> LF + Send + Sync,
        LF: Future<Output = Result<Page<K>, Error>> + Send,
        W: Fn(WatchOptions) -> WF + Send + Sync,
        WF: Future<Output = Result<Watch<K>, Error>> + Send,
    {
        Self { list, watch, streaming_lists: StreamingLists::Unsupported }
    }

    /// Declares that the watch function supports `sendInitialEvents`.
    #[must_use]
    pub fn with_streaming_lists(mut self) -> Self {
        self.streaming_lists = StreamingLists::Supported;
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
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let page = (self.list)(options.clone()).await?;
            Ok(page.emit(on_item))
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move { (self.watch)(options.clone()).await })
    }

    fn can_stream_lists(&self) -> bool {
        self.streaming_lists == StreamingLists::Supported
    }
}

impl<L, W> fmt::Debug for FromFns<L, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFns").field("streaming_lists", &self.streaming_lists).finish_non_exhaustive()
    }
}
