//! Full lists in pages: the version, the page size, and the reaction to a failed page.

use super::{AfterWait, Cursor, Phase, Wait, failure::Failure, request_limiter::RequestKind};
use crate::{
    reflector::{backoff::BackoffState, config::InitialList},
    source::{Next, PAGE_SIZE, Paging},
};
use kube_informer_wire::{ListOptions, ResourceVersion};
use std::num::NonZeroU64;
use tokio::time::Instant;

/// Retries of a refused page before the list starts over.
const MAX_PAGE_RETRIES: u32 = 5;

/// Pages in succession without progress before the list fails.
pub(in super::super) const MAX_PAGES_WITHOUT_PROGRESS: u32 = 5;

/// A list in progress.
#[derive(Debug)]
pub(super) struct ListState {
    paging: Paging,
    /// The version of the first page.
    version: Option<ResourceVersion>,
    /// The version that was requested.
    requested: Option<ResourceVersion>,
    /// The delays between retries of the current page.
    backoff: BackoffState,
    /// The retries of the current page.
    retries: u32,
    /// The last pages that were empty or had the token of the page before.
    pages_without_progress: u32,
    /// True if the pages of the list before did not end, so that all pages of this one are limited.
    is_suspicious: bool,
}

/// A page of a list, without its items.
#[derive(Debug, Default)]
pub(in super::super) struct ReceivedPage {
    /// The version of the list.
    pub(in super::super) version: Option<ResourceVersion>,
    /// The token of the next page.
    pub(in super::super) continue_token: Option<String>,
    /// The number of items.
    pub(in super::super) items: u64,
}

impl ListState {
    pub(super) fn request(&self) -> ListOptions {
        self.paging.request()
    }

    /// Returns the kind of the next request.
    pub(super) fn request_kind(&self) -> RequestKind {
        if self.paging.is_continued() { RequestKind::Page } else { RequestKind::List }
    }

    /// Returns whether the next request is limited. Pages are not, as long as the list makes progress. Retries have delays of
    /// their own.
    pub(super) fn is_limited(&self) -> bool {
        !self.paging.is_continued() || self.is_suspicious || self.pages_without_progress > 0
    }

    /// Returns whether the list was requested at a version that is not a number, which this server may not have sent.
    fn has_odd_version(&self) -> bool {
        self.requested.as_ref().is_some_and(|version| version.to_number().is_none())
    }
}

impl Cursor {
    /// Starts with a full list at this version or newer.
    pub(in super::super) fn list_from(&mut self, version: ResourceVersion) {
        self.version = Some(version);
    }

    pub(super) fn start_list(&mut self) {
        let version = match (&self.version, self.config.initial_list) {
            _ if self.is_version_unavailable => None,
            (None, InitialList::Cached) => Some(ResourceVersion::ANY),
            (None, InitialList::MostRecent) => None,
            (Some(version), InitialList::Cached | InitialList::MostRecent) => Some(version.clone()),
        };
        let limit = self.page_size(version.as_ref());
        let options = ListOptions { resource_version: version.clone(), ..ListOptions::default() };
        self.phase = Phase::Listing(ListState {
            paging: Paging::new(options, limit),
            version: None,
            requested: version,
            backoff: BackoffState::new(self.config.backoff),
            retries: 0,
            pages_without_progress: 0,
            is_suspicious: self.is_list_endless,
        });
    }

    /// Returns the page size for a list at `version`; `None` means a single response.
    ///
    /// The server can serve a list at a given version from its cache only in a single response. An earlier
    /// list shows if the server has a cache.
    fn page_size(&self, version: Option<&ResourceVersion>) -> Option<NonZeroU64> {
        match (self.config.page_size, version) {
            (Some(size), _) => Some(size),
            (None, Some(version)) if !version.is_any() && !self.is_list_paged => None,
            (None, _) => Some(PAGE_SIZE),
        }
    }

    /// Records that a page was received. A list whose pages do not end fails.
    pub(in super::super) fn page_received(&mut self, page: ReceivedPage, now: Instant) {
        let Phase::Listing(list) = &mut self.phase else { return };
        let ReceivedPage { version, continue_token, items } = page;
        let is_repeated = continue_token.is_some() && continue_token.as_deref() == list.paging.token();
        list.version = list.version.take().or(version);
        list.retries = 0;
        list.backoff = BackoffState::new(self.config.backoff);
        list.pages_without_progress =
            if items == 0 || is_repeated { list.pages_without_progress + 1 } else { 0 };
        match list.paging.page_received(continue_token) {
            Next::Page if list.pages_without_progress >= MAX_PAGES_WITHOUT_PROGRESS => {
                self.is_list_endless = true;
                self.wait(Failure::Other(None), AfterWait::Relist, now);
            }
            Next::Page => {}
            Next::Done => {
                self.is_list_endless = false;
                let is_any = list.requested.as_ref().is_some_and(ResourceVersion::is_any);
                self.is_list_paged |= is_any && list.paging.is_paged();
                self.phase = Phase::Replacing { version: list.version.take(), watch: None };
            }
        }
    }

    /// Records that a page could not be listed.
    pub(in super::super) fn list_failed(&mut self, failure: Failure, now: Instant) {
        let Phase::Listing(list) = &mut self.phase else { return };
        if failure == Failure::Expired && list.paging.page_expired() {
            list.version = None;
        } else if failure.is_version_unavailable() && !self.is_version_unavailable {
            self.is_version_unavailable = true;
            self.start_list();
        } else if failure.is_deferred() && list.retries < MAX_PAGE_RETRIES {
            list.retries += 1;
            self.wait_for_page(failure, now);
        } else {
            // The version may come from a bookmark that this server cannot have sent: the next list does without it.
            self.is_version_unavailable |= match failure {
                Failure::Invalid => list.requested.as_ref().is_some_and(|version| !version.is_any()),
                Failure::Internal(_) => list.has_odd_version(),
                Failure::Expired
                | Failure::VersionTooLarge
                | Failure::Throttled(_)
                | Failure::Refused
                | Failure::Unavailable(_)
                | Failure::Other(_) => false,
            };
            self.wait(failure, AfterWait::Relist, now);
        }
    }

    /// Waits before the current page is requested again.
    fn wait_for_page(&mut self, failure: Failure, now: Instant) {
        if let Phase::Listing(mut list) = std::mem::replace(&mut self.phase, Phase::Relist) {
            let delay = list.backoff.next(now, &mut self.jitter).max(failure.min_delay());
            let wait = Wait { delay, then: AfterWait::Page };
            self.phase = Phase::Waiting { wait, list: Some(list) };
        }
    }
}
