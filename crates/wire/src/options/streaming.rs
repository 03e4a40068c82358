//! Which lists can be asked for as a streaming list, and how.

use super::{
    list::{ListOptions, VersionMatch},
    watch::WatchOptions,
};
use crate::version::ResourceVersion;

impl ListOptions {
    /// The streaming list that gives the same objects as this list, if there is one.
    ///
    /// There is none for one page of several, for a continuation, for an exact version, nor for options that the
    /// server refuses. A limit beside version "0" is dropped: the server's cache ignores it there anyway.
    #[must_use]
    pub fn to_streaming_list(&self) -> Option<WatchOptions> {
        let any = self.resource_version.as_ref().is_some_and(ResourceVersion::is_any);
        let paged = self.limit.is_some() && !any || self.continued().is_some();
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
