//! The requests of a list in pages.

use kube_informer_wire::ListOptions;
use std::num::NonZeroU64;

/// The state of a list that is requested in pages.
///
/// ```text
/// First -> Continued -> .. -> done
///              | expired
///              v
///          Unpaged -> done
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Paging {
    options: ListOptions,
    limit: Option<NonZeroU64>,
    state: State,
    /// True after a page has expired. A server that splits the list into pages nevertheless gets no second chance.
    has_fallen_back: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// The first page is requested.
    First,
    /// The page with this token is requested.
    Continued(String),
    /// A page has expired: all items are requested in one response.
    Unpaged,
}

/// The progress of a list after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is another page to request.
    Page,
    /// The list is complete.
    Done,
}

impl Paging {
    /// Starts a list in pages of `limit` items. `None` means one page.
    pub(crate) fn new(options: ListOptions, limit: Option<NonZeroU64>) -> Self {
        Self { options, limit, state: State::First, has_fallen_back: false }
    }

    /// Returns the options of the next request. With a token there is no version: the token implies it.
    pub(crate) fn request(&self) -> ListOptions {
        let mut options = self.options.clone();
        match &self.state {
            State::First => options.limit = self.limit,
            State::Continued(token) => {
                options.limit = self.limit;
                options.continue_token = Some(token.clone());
                options.resource_version = None;
                options.resource_version_match = None;
            }
            State::Unpaged => {
                options.limit = None;
                options.continue_token = None;
            }
        }
        options
    }

    /// Returns true if the next request is a page after the first.
    pub(crate) fn is_continued(&self) -> bool {
        self.token().is_some()
    }

    /// Returns the token of the next request.
    pub(crate) fn token(&self) -> Option<&str> {
        match &self.state {
            State::Continued(token) => Some(token),
            State::First | State::Unpaged => None,
        }
    }

    /// Returns true after more than one request.
    pub(crate) fn is_paged(&self) -> bool {
        self.state != State::First
    }

    /// Records that a page was received, with the token of the next page.
    pub(crate) fn page_received(&mut self, token: Option<String>) -> Next {
        match token {
            Some(token) => {
                self.state = State::Continued(token);
                Next::Page
            }
            None => Next::Done,
        }
    }

    /// Records that a page has expired. Returns true if the list starts over with one request for all items, so that the
    /// items received so far must be discarded. There is no such fallback for the first request, and only one for each list.
    pub(crate) fn page_expired(&mut self) -> bool {
        let falls_back = self.is_continued() && !self.has_fallen_back;
        if falls_back {
            self.state = State::Unpaged;
            self.has_fallen_back = true;
        }
        falls_back
    }
}
