//! Lists in pages.

use super::{
    error::Error,
    lister_watcher::ListerWatcher,
    paging::{Next, Paging},
};
use crate::object::{ItemError, RawObject};
use kube_informer_wire::{ListOptions, ResourceVersion};
use std::{
    num::NonZeroU64,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    task::Poll,
};
use tokio::sync::mpsc;

/// Reads a full list in pages: client-go's `ListPager`.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::{Churn, DevServer};
/// use kube_informer::source::{ListWatch, Pager};
/// use std::num::NonZeroU64;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = DevServer::start(); // instead of a cluster
/// server.churn(Churn::pods(10));
/// let pods = ListWatch::<Pod>::all(server.client());
/// let pager = Pager::new(&pods).page_size(NonZeroU64::new(4).expect("not zero"));
/// let list = pager.list::<Pod>(&Default::default()).await?;
/// assert!(list.items.len() == 10 && list.is_paged);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Pager<'l, L: ?Sized> {
    source: &'l L,
    page_size: Option<NonZeroU64>,
    read_ahead: usize,
    expiry: Expiry,
}

/// The reaction to a page after the first that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    ListUnpaged,
    Fail,
}

/// A full list.
#[derive(Debug)]
pub struct Listed<K> {
    /// The objects, in order.
    pub items: Vec<K>,
    /// The errors of items that cannot be decoded, and were skipped.
    pub undecodable: Vec<ItemError>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// True if more than one request was needed.
    pub is_paged: bool,
}

/// One page of a list; see [`Pager::each_page`].
#[derive(Debug)]
pub struct ListedPage<K> {
    /// The objects, in order.
    pub items: Vec<K>,
    /// The errors of items that cannot be decoded, and were skipped.
    pub undecodable: Vec<ItemError>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
}

impl<K> Listed<K> {
    fn empty() -> Self {
        Self { items: Vec::new(), undecodable: Vec::new(), version: None, is_paged: false }
    }
}

/// The default number of items per page.
pub const PAGE_SIZE: NonZeroU64 = NonZeroU64::new(500).expect("not zero");

impl<'l, L: ?Sized> Pager<'l, L> {
    /// Creates a pager with pages of [`PAGE_SIZE`] items that reads up to ten pages ahead.
    pub fn new(source: &'l L) -> Self {
        Self { source, page_size: Some(PAGE_SIZE), read_ahead: 10, expiry: Expiry::ListUnpaged }
    }

    /// Sets the number of items per page. The limit in the options of a list has precedence.
    pub fn page_size(mut self, items: NonZeroU64) -> Self {
        self.page_size = Some(items);
        self
    }

    /// Lists all items in one response, unless the options of a list have a limit.
    pub fn unpaged(mut self) -> Self {
        self.page_size = None;
        self
    }

    /// Sets the number of pages that [`each_page`](Self::each_page) fetches before the current one is consumed.
    pub fn read_ahead(mut self, pages: usize) -> Self {
        self.read_ahead = pages;
        self
    }

    /// Fails if a page after the first has expired. The default is to list all items again in one response.
    pub fn fail_if_expired(mut self) -> Self {
        self.expiry = Expiry::Fail;
        self
    }

    fn paging(&self, options: &ListOptions) -> Paging {
        Paging::new(options.clone(), options.limit.or(self.page_size))
    }

    /// Collects a full list.
    ///
    /// # Errors
    /// The error of the page that failed. A page that has expired is an error only if the fallback to one response fails too.
    pub async fn list<K: Send>(&self, options: &ListOptions) -> Result<Listed<K>, Error>
    where
        L: ListerWatcher<K>,
    {
        let mut paging = self.paging(options);
        let mut listed = Listed::empty();
        loop {
            let request = paging.request();
            let mut on_item = |item| match decode(item) {
                Ok(object) => listed.items.push(object),
                Err(error) => listed.undecodable.push(error),
            };
            match self.source.list(&request, &mut on_item).await {
                Ok(meta) => {
                    listed.version = listed.version.or(meta.version);
                    if paging.page_received(meta.continue_token) == Next::Done {
                        return Ok(Listed { is_paged: paging.is_paged(), ..listed });
                    }
                }
                Err(error)
                    if error.is_expired() && self.expiry == Expiry::ListUnpaged && paging.page_expired() =>
                {
                    listed = Listed::empty();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `on_item` with every item as it is decoded, and returns the version of the list. Stops when `on_item` returns
    /// [`ControlFlow::Break`]: the response is not read further, and no other page is requested.
    ///
    /// There is no fallback for a page that has expired, since `on_item` would be called twice for the same item.
    ///
    /// # Errors
    /// The error of the page that failed. `on_item` has been called for the items before it.
    pub async fn each<K: Send>(
        &self,
        options: &ListOptions,
        mut on_item: impl FnMut(Result<K, ItemError>) -> ControlFlow<()> + Send,
    ) -> Result<Option<ResourceVersion>, Error>
    where
        L: ListerWatcher<K>,
    {
        let mut paging = self.paging(options);
        let mut version = None;
        let is_stopped = AtomicBool::new(false);
        let mut on_item = |item| {
            if !is_stopped.load(Ordering::Relaxed) && on_item(decode(item)).is_break() {
                is_stopped.store(true, Ordering::Relaxed);
            }
        };
        loop {
            let request = paging.request();
            let mut page = self.source.list(&request, &mut on_item);
            let page = std::future::poll_fn(|context| match page.as_mut().poll(context) {
                Poll::Pending if is_stopped.load(Ordering::Relaxed) => Poll::Ready(None),
                poll => poll.map(Some),
            });
            let Some(meta) = page.await.transpose()? else { return Ok(version) };
            version = version.or(meta.version);
            if is_stopped.load(Ordering::Relaxed) || paging.page_received(meta.continue_token) == Next::Done {
                return Ok(version);
            }
        }
    }

    /// Calls `on_page` with every page, and fetches the next pages in the meantime.
    ///
    /// # Errors
    /// The error of the page that failed, after `on_page` has handled the pages before it, or the error of `on_page`.
    pub async fn each_page<K: Send, E, F>(
        &self,
        options: &ListOptions,
        mut on_page: impl FnMut(ListedPage<K>) -> F,
    ) -> Result<(), E>
    where
        L: ListerWatcher<K>,
        E: From<Error>,
        F: Future<Output = Result<(), E>>,
    {
        let (sender, mut receiver) = mpsc::channel(self.read_ahead + 1);
        let fetch = self.fetch(options, sender);
        let consume = async {
            while let Some(page) = receiver.recv().await {
                on_page(page?).await?;
            }
            Ok(())
        };
        let mut fetch = std::pin::pin!(fetch);
        let mut consume = std::pin::pin!(consume);
        let mut is_fetched = false;
        std::future::poll_fn(|context| {
            is_fetched = is_fetched || fetch.as_mut().poll(context).is_ready();
            consume.as_mut().poll(context)
        })
        .await
    }

    async fn fetch<K: Send>(&self, options: &ListOptions, pages: mpsc::Sender<Result<ListedPage<K>, Error>>)
    where
        L: ListerWatcher<K>,
    {
        let mut paging = self.paging(options);
        // The slot is reserved before the request, so that at most `read_ahead` pages wait.
        while let Ok(slot) = pages.reserve().await {
            let mut items = Vec::new();
            let mut undecodable = Vec::new();
            let mut on_item = |item| match decode(item) {
                Ok(object) => items.push(object),
                Err(error) => undecodable.push(error),
            };
            match self.source.list(&paging.request(), &mut on_item).await {
                Ok(meta) => {
                    let next = paging.page_received(meta.continue_token);
                    slot.send(Ok(ListedPage { items, undecodable, version: meta.version }));
                    if next == Next::Done {
                        return;
                    }
                }
                Err(error) => {
                    slot.send(Err(error));
                    return;
                }
            }
        }
    }
}

fn decode<K>(item: Result<RawObject<K>, ItemError>) -> Result<K, ItemError> {
    item.and_then(RawObject::into_object)
}
