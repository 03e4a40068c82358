//! What a watch asks for.

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
    /// Which objects, by label.
    pub label_selector: LabelSelector,
    /// Which objects, by field.
    pub field_selector: FieldSelector,
    /// Which part of the objects, for clients that share the work.
    pub shard_selector: Option<ShardSelector>,
    /// The version after which the watch begins; none and [`ResourceVersion::ANY`] begin with what there is.
    pub resource_version: Option<ResourceVersion>,
    /// How `resource_version` is meant; goes together with `send_initial_events`.
    pub resource_version_match: Option<VersionMatch>,
    /// How long the watch may last; written in whole seconds, rounded up, because zero means the server's default.
    pub timeout: Option<Duration>,
    /// Whether the server may send bookmarks.
    pub allow_watch_bookmarks: bool,
    /// Whether the watch begins with all that exists and a bookmark that ends it; unset and false differ.
    pub send_initial_events: Option<bool>,
}

impl WatchOptions {
    /// Watches what comes after `version`, with bookmarks.
    #[must_use]
    pub fn after(version: ResourceVersion) -> Self {
        Self { resource_version: Some(version), allow_watch_bookmarks: true, ..Self::default() }
    }

    /// A streaming list: all there is, not older than `version`, then a bookmark, then what comes after.
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

    /// Writes the options as a query string, always in the same order and without what is not set.
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
    /// [`QueryError::Rule`] names the first rule that is broken.
    pub fn check(&self) -> Result<(), QueryError> {
        let broken = |rule| Err(QueryError::Rule { parameter: VersionMatch::PARAMETER, rule });
        match (self.send_initial_events, self.resource_version_match) {
            (None, None) | (Some(_), Some(VersionMatch::NotOlderThan)) => Ok(()),
            (None, Some(_)) => broken("a watch takes it only with sendInitialEvents"),
            (Some(_), None | Some(VersionMatch::Exact)) => broken("sendInitialEvents needs NotOlderThan"),
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
