//! Converts list options to a streaming list.

use super::{
    list::{ListOptions, VersionMatch},
    watch::WatchOptions,
};
use crate::version::ResourceVersion;

impl ListOptions {
    /// Returns the streaming list of the same objects; `None` if there is none.
    ///
    /// There is none for a page of several, a continuation, an exact version, and options that the server rejects. A limit
    /// with version "0" is dropped, since the server ignores it.
    #[must_use]
    pub fn to_streaming_list(&self) -> Option<WatchOptions> {
        let any = self.resource_version.as_ref().is_some_and(ResourceVersion::is_any);
        let paged = self.limit.is_some() && !any || self.continuation().is_some();
        let exact = self.resource_version_match == Some(VersionMatch::Exact);
        if paged || exact || self.check().is_err() {
            return None;
        }
        Some(WatchOptions {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            shard_selector: self.shard_selector.clone(),
            timeout: self.timeout,
            ..WatchOptions::streaming_list(self.resource_version.clone())
        })
    }
}
