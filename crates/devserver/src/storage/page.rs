//! One page of a list.

use crate::storage::{collection::Collection, record::Record, selection::Selection, token::Token};
use std::num::NonZeroU64;

/// The requested part of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Span {
    /// The version; `None` for the newest.
    pub(crate) version: Option<u64>,
    /// The key after which it starts.
    pub(crate) after: Option<String>,
    /// The maximum number of objects.
    pub(crate) limit: Option<NonZeroU64>,
}

/// The objects of a page, and the start of the next one.
#[derive(Debug)]
pub(crate) struct Page {
    /// The version of the objects.
    pub(crate) version: u64,
    /// The objects, in order.
    pub(crate) records: Vec<Record>,
    /// The start of the next page, if there is one.
    pub(crate) next: Option<Token>,
    /// The number of objects after this page, if it is known without a selector.
    pub(crate) remaining: Option<u64>,
}

/// Reads a page of `collection` at `version`; `None` if the version has expired.
pub(crate) fn read(
    collection: &Collection,
    version: u64,
    selection: &Selection,
    span: &Span,
) -> Option<Page> {
    let mut objects = collection.at(version, selection, span.after.as_deref())?;
    let limit = span.limit.and_then(|limit| usize::try_from(limit.get()).ok()).unwrap_or(usize::MAX);
    let selected = objects.by_ref().filter(|record| selection.matches(record.content()));
    let records: Vec<_> = selected.take(limit).cloned().collect();
    // kube-apiserver does not evaluate the selector beyond a full page, so that the remaining objects are
    // counted without it.
    let rest = if records.len() == limit { objects.count() } else { 0 };
    let last = records.last().filter(|_| rest > 0);
    let next = last.map(|last| Token { version: Some(version), after: last.key().to_string() });
    let remaining = (next.is_some() && !selection.has_selector()).then_some(rest as u64);
    Some(Page { version, records, next, remaining })
}
