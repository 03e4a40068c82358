//! Lists in pages.

use super::{
    error::Error,
    functions::Page,
    lister_watcher::ListerWatcher,
    paging::{Next, Paging},
};
use crate::object::{ItemError, RawObject};
use kube_informer_wire::{ListMeta, ListOptions, ResourceVersion};
use std::num::NonZeroU64;
use tokio::sync::mpsc;

/// Reads a whole list page by page.
///
/// ```
/// # use kube_informer::source::{FromFns, Page, Pager, Watch};
/// # use k8s_openapi::api::core::v1::Pod;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let source = FromFns::new(
/// #     |_| async { Ok(Page { items: vec![Pod::default()], version: None, continue_token: None }) },
/// #     |_| async { Ok(Watch::new(futures_util::stream::pending())) },
/// # );
/// let listed = Pager::new(&source).list(&Default::default()).await?;
/// assert_eq!(listed.items.len(), 1);
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

/// What to do when a page after the first has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiry {
    ListWhole,
    Fail,
}

/// A whole list.
#[derive(Debug)]
pub struct Listed<K> {
    /// The objects, in order.
    pub items: Vec<K>,
    /// Why items were left out.
    pub undecodable: Vec<ItemError>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// Whether it took more than one request.
    pub is_paged: bool,
}

/// Pages have this many items unless told otherwise.
pub const PAGE_SIZE: NonZeroU64 = NonZeroU64::new(500).expect("not zero");

impl<'l, L: ?Sized> Pager<'l, L> {
    /// Lists `source` in pages of [`PAGE_SIZE`], reading up to ten pages ahead.
    pub fn new(source: &'l L) -> Self {
        Self { source, page_size: Some(PAGE_SIZE), read_ahead: 10, expiry: Expiry::ListWhole }
    }

    /// Sets how many items a page has, unless the options of a list say so themselves.
    pub fn page_size(mut self, items: NonZeroU64) -> Self {
        self.page_size = Some(items);
        self
    }

    /// Lists everything in one answer, unless the options of a list say otherwise.
    pub fn unpaged(mut self) -> Self {
        self.page_size = None;
        self
    }

    /// Sets how many pages [`each_page`](Self::each_page) fetches while one waits to be consumed.
    pub fn read_ahead(mut self, pages: usize) -> Self {
        self.read_ahead = pages;
        self
    }

    /// Fails when a page after the first has expired, instead of listing the whole in one answer.
    pub fn fail_if_expired(mut self) -> Self {
        self.expiry = Expiry::Fail;
        self
    }

    fn paging(&self, options: &ListOptions) -> Paging {
        Paging::new(options.clone(), options.limit.or(self.page_size))
    }

    /// Collects the whole list.
    ///
    /// # Errors
    /// The error of the page that failed, unless listing the whole mended it.
    pub async fn list<K: Send>(&self, options: &ListOptions) -> Result<Listed<K>, Error>
    where
        L: ListerWatcher<K>,
    {
        let mut paging = self.paging(options);
        let mut listed =
            Listed { items: Vec::new(), undecodable: Vec::new(), version: None, is_paged: false };
        loop {
            let request = paging.request();
            let mut take = |item| match object(item) {
                Ok(object) => listed.items.push(object),
                Err(error) => listed.undecodable.push(error),
            };
            match self.source.list(&request, &mut take).await {
                Ok(meta) => {
                    listed.version = listed.version.or(meta.version);
                    if paging.page_received(meta.continue_token) == Next::Done {
                        return Ok(Listed { is_paged: paging.is_paged(), ..listed });
                    }
                }
                Err(error)
                    if error.is_expired() && self.expiry == Expiry::ListWhole && paging.page_expired() =>
                {
                    (listed.items, listed.undecodable, listed.version) = (Vec::new(), Vec::new(), None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls `each` with every item as it is decoded.
    ///
    /// What has been visited cannot be taken back, so an expired page is an error here.
    ///
    /// # Errors
    /// The error of the page that failed; the items before it have been visited.
    pub async fn each<K: Send>(
        &self,
        options: &ListOptions,
        mut each: impl FnMut(Result<K, ItemError>) + Send,
    ) -> Result<Option<ResourceVersion>, Error>
    where
        L: ListerWatcher<K>,
    {
        let (mut paging, mut version) = (self.paging(options), None);
        let mut each = |item| each(object(item));
        loop {
            let ListMeta { version: page_version, continue_token, .. } =
                self.source.list(&paging.request(), &mut each).await?;
            version = version.or(page_version);
            if paging.page_received(continue_token) == Next::Done {
                return Ok(version);
            }
        }
    }

    /// Calls `each` with every page, fetching the next ones meanwhile.
    ///
    /// # Errors
    /// The error of the page that failed, after `each` has had the pages before it; or what `each` returns, at once.
    pub async fn each_page<K: Send, E, F>(
        &self,
        options: &ListOptions,
        mut each: impl FnMut(Page<K>) -> F,
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
                each(page?).await?;
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

    async fn fetch<K: Send>(&self, options: &ListOptions, pages: mpsc::Sender<Result<Page<K>, Error>>)
    where
        L: ListerWatcher<K>,
    {
        let mut paging = self.paging(options);
        // A place for the page before the page: what is fetched ahead is then what the channel holds.
        while let Ok(place) = pages.reserve().await {
            let mut items = Vec::new();
            let mut take = |item: Result<RawObject<K>, ItemError>| items.extend(object(item).ok());
            match self.source.list(&paging.request(), &mut take).await {
                Ok(meta) => {
                    let token = meta.continue_token.clone();
                    let next = paging.page_received(meta.continue_token);
                    place.send(Ok(Page { items, version: meta.version, continue_token: token }));
                    if next == Next::Done {
                        return;
                    }
                }
                Err(error) => {
                    place.send(Err(error));
                    return;
                }
            }
        }
    }
}

fn object<K>(item: Result<RawObject<K>, ItemError>) -> Result<K, ItemError> {
    item.and_then(RawObject::into_object)
}
