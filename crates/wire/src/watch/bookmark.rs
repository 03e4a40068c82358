//! The object of a bookmark.

use super::event::{INITIAL_EVENTS_END, WatchEvent};
use crate::version::ResourceVersion;
use serde::{Deserialize, Deserializer, de::Error};
use std::collections::BTreeMap;

/// The object of a bookmark, with the two fields that have a meaning.
#[derive(Deserialize)]
pub(super) struct Bookmark {
    metadata: BookmarkMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMetadata {
    #[serde(deserialize_with = "deserialize_version")]
    resource_version: ResourceVersion,
    annotations: Option<BTreeMap<String, String>>,
}

impl Bookmark {
    pub(super) fn into_event<K>(self) -> WatchEvent<K> {
        let end =
            self.metadata.annotations.as_ref().and_then(|annotations| annotations.get(INITIAL_EVENTS_END));
        let initial_events_end = end.is_some_and(|end| end == "true");
        WatchEvent::Bookmark { version: self.metadata.resource_version, initial_events_end }
    }
}

fn deserialize_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ResourceVersion, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}
