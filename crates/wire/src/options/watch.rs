//! The options of a watch.

use super::{
    list::{VersionMatch, read_timeout, read_version, whole_seconds},
    parameter::{QueryError, Reader, Writer},
};
use crate::{
    selector::{FieldSelector, LabelSelector, ShardSelector},
    version::ResourceVersion,
};
use std::time::Duration;

/// The options of a watch.
///
/// ```
/// use kube_informer_wire::{ResourceVersion, WatchOptions};
///
/// let options = WatchOptions::after(ResourceVersion::number(7));
/// assert_eq!(options.to_query(), "watch=true&resourceVersion=7&allowWatchBookmarks=true");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Selects objects by label.
    pub label_selector: LabelSelector,
    /// Selects objects by field.
    pub field_selector: FieldSelector,
    /// Selects a shard of the objects.
    pub shard_selector: Option<ShardSelector>,
    /// The version after which the watch starts; `None` and [`ResourceVersion::ANY`] start with all existing objects.
    pub resource_version: Option<ResourceVersion>,
    /// How `resource_version` is applied; required with `send_initial_events`.
    pub resource_version_match: Option<VersionMatch>,
    /// The timeout of the watch, rounded up to seconds, since zero means the server's default.
    pub timeout: Option<Duration>,
    /// Whether the server may send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Whether the watch starts with all existing objects, followed by a bookmark. `None` and `false` differ.
    pub send_initial_events: Option<bool>,
}

impl WatchOptions {
    /// Creates the options of a watch for changes after `version`, with bookmarks.
    #[must_use]
    pub fn after(version: ResourceVersion) -> Self {
        Self { resource_version: Some(version), allow_watch_bookmarks: true, ..Self::default() }
    }

    /// Creates the options of a streaming list: all objects, not older than `version`, a bookmark, and the changes after it.
    #[must_use]
    pub fn streaming_list(version: Option<ResourceVersion>) -> Self {
        Self {
            resource_version: version,
            resource_version_match: Some(VersionMatch::NotOlderThan),
            allow_watch_bookmarks: true,
            send_initial_events: Some(true),
            ..Self::default()
        }
    }

    /// Returns the query string, always in the same order and without options that are not set.
    #[must_use]
    pub fn to_query(&self) -> String {
        let mut query = Writer::new();
        query
            .set("watch", Some(true))
            .set("labelSelector", Some(&self.label_selector).filter(|selector| !selector.is_everything()))
            .set("fieldSelector", Some(&self.field_selector).filter(|selector| !selector.is_everything()))
            .set("shardSelector", self.shard_selector.as_ref())
            .set("resourceVersion", self.resource_version.as_ref())
            .set("resourceVersionMatch", self.resource_version_match.map(VersionMatch::as_str))
            .set("timeoutSeconds", self.timeout.map(whole_seconds))
            .set("allowWatchBookmarks", self.allow_watch_bookmarks.then_some(true))
            .set("sendInitialEvents", self.send_initial_events);
        query.finish()
    }

    /// Checks the rules of the API server for a watch.
    ///
    /// # Errors
    /// [`QueryError::Rule`] for the first violated rule.
    pub fn check(&self) -> Result<(), QueryError> {
        let error = |rule| Err(QueryError::Rule { parameter: VersionMatch::PARAMETER, rule });
        match (self.send_initial_events, self.resource_version_match) {
            (None, None) | (Some(_), Some(VersionMatch::NotOlderThan)) => Ok(()),
            (None, Some(_)) => error("a watch allows it only with sendInitialEvents"),
            (Some(_), None | Some(VersionMatch::Exact)) => error("sendInitialEvents requires NotOlderThan"),
        }
    }

    pub(super) fn read(query: &Reader<'_>) -> Result<Self, QueryError> {
        let options = Self {
            label_selector: query.selector("labelSelector")?.unwrap_or_default(),
            field_selector: query.selector("fieldSelector")?.unwrap_or_default(),
            shard_selector: query.selector("shardSelector")?,
            resource_version: read_version(query)?,
            resource_version_match: VersionMatch::read(query)?,
            timeout: read_timeout(query)?,
            allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or_default(),
            send_initial_events: query.flag("sendInitialEvents"),
        };
        options.check().map(|()| options)
    }
}
