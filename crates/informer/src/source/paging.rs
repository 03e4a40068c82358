//! Which page to ask for next, and what to do when a page has expired.

use kube_informer_wire::ListOptions;
use std::num::NonZeroU64;

/// A list on its way through its pages.
///
/// ```text
/// First -> Following -> .. -> done
///              | expired
///              v
///            Whole -> done
/// ```
#[derive(Clone, Debug)]
pub(crate) struct Paging {
    options: ListOptions,
    limit: Option<NonZeroU64>,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    First,
    Following(String),
    /// A page expired: all of it in one answer.
    Whole,
}

/// What is to be done after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// There is another page.
    Page,
    /// There is none.
    Done,
}

impl Paging {
    /// Begins a list of pages of `limit` items; nothing means one page.
    pub(crate) fn new(options: ListOptions, limit: Option<NonZeroU64>) -> Self {
        Self { options, limit, place: Place::First }
    }

    /// What to ask for. A continuation carries its token and no version: the token says which it is.
    pub(crate) fn request(&self) -> ListOptions {
        let mut options = self.options.clone();
        match &self.place {
            Place::First => options.limit = self.limit,
            Place::Following(token) => {
                options.limit = self.limit;
                options.continue_token = Some(token.clone());
                options.resource_version = None;
                options.resource_version_match = None;
            }
            Place::Whole => {
                options.limit = None;
                options.continue_token = None;
            }
        }
        options
    }

    /// Whether more than one page was asked for.
    pub(crate) fn is_paged(&self) -> bool {
        self.place != Place::First
    }

    /// A page came, with this token for the next.
    pub(crate) fn page_received(&mut self, token: Option<String>) -> Next {
        match token {
            Some(token) => {
                self.place = Place::Following(token);
                Next::Page
            }
            None => Next::Done,
        }
    }

    /// A page has expired. Whether all is to be listed again in one answer, forgetting what came so far; a first page
    /// that has expired, or the whole, leaves nothing to fall back to.
    pub(crate) fn page_expired(&mut self) -> bool {
        let falls_back = matches!(self.place, Place::Following(_));
        if falls_back {
            self.place = Place::Whole;
        }
        falls_back
    }
}
