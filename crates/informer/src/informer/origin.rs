//! Where the objects of an informer come from, and how they are asked for.

use super::start_error::StartError;
use crate::source::{BoxError, Encoding, ListerWatcher};
use kube_informer_wire::{FieldSelector, LabelSelector, ManagedFields};
use std::sync::Arc;

/// Where the objects come from.
pub(super) enum Origin<K> {
    /// An API server, in the namespace and with the selectors given.
    Server(Arc<Open<K>>),
    Source(Arc<dyn ListerWatcher<K>>),
}

pub(super) type Open<K> = dyn Fn(Option<&str>, Request) -> Arc<dyn ListerWatcher<K>> + Send + Sync;

/// How the server is asked.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) labels: LabelSelector,
    pub(super) fields: FieldSelector,
    pub(super) encoding: Encoding,
    pub(super) managed_fields: ManagedFields,
    pub(super) max_object_size: usize,
}

/// Reads a selector.
pub(super) fn parse<S, E>(
    text: Option<&str>,
    error: fn(String, BoxError) -> StartError,
) -> Result<S, StartError>
where
    S: std::str::FromStr<Err = E>,
    E: Into<BoxError>,
{
    let text = text.unwrap_or_default();
    text.parse().map_err(|cause: E| error(text.to_owned(), cause.into()))
}

/// Whether a namespace can be named so: a DNS label (RFC 1123).
pub(super) fn is_namespace(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    matches!(bytes.len(), 1..=63)
        && bytes.iter().all(|byte| is_plain(*byte) || *byte == b'-')
        && [bytes.first(), bytes.last()].into_iter().flatten().all(|byte| is_plain(*byte))
}
