//! Full lists in pages: the version, the page size, and the reaction to a failed page.

use super::{AfterWait, Cursor, Failure, Phase};
use crate::source::{Next, PAGE_SIZE, Paging};
use kube_informer_wire::{ListOptions, ResourceVersion};
use std::num::NonZeroU64;
use tokio::time::Instant;

/// A list in progress.
#[derive(Debug)]
pub(super) struct ListState {
    paging: Paging,
    /// The version of the first page.
    version: Option<ResourceVersion>,
    /// True if it was requested at any version (`"0"`).
    is_any: bool,
}

impl ListState {
    pub(super) fn request(&self) -> ListOptions {
        self.paging.request()
    }
}

impl Cursor {
    /// Starts with a full list at this version or newer.
    pub(in super::super) fn list_from(&mut self, version: ResourceVersion) {
        self.version = Some(version);
    }

    pub(super) fn start_list(&mut self) {
        let version = match &self.version {
            _ if self.is_version_unavailable => None,
            None => Some(ResourceVersion::ANY),
            Some(version) => Some(version.clone()),
        };
        let is_any = version.as_ref().is_some_and(ResourceVersion::is_any);
        let limit = self.page_size(version.as_ref());
        let options = ListOptions { resource_version: version, ..ListOptions::default() };
        let paging = Paging::new(options, limit);
        self.phase = Phase::Listing(ListState { paging, version: None, is_any });
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

    /// Records that a page was received, with the version of its list and the token of the next page.
    pub(in super::super) fn page_received(
        &mut self,
        list_version: Option<ResourceVersion>,
        continue_token: Option<String>,
    ) {
        let Phase::Listing(list) = &mut self.phase else { return };
        list.version = list.version.take().or(list_version);
        match list.paging.page_received(continue_token) {
            Next::Page => {}
            Next::Done => {
                self.is_list_paged |= list.is_any && list.paging.is_paged();
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
        } else {
            self.wait(failure, AfterWait::Relist, now);
        }
    }
}
