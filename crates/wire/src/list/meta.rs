//! The metadata of a list.

use crate::version::ResourceVersion;

/// The metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListMeta {
    /// The apiVersion, such as `apps/v1`; empty if absent.
    pub api_version: String,
    /// The kind, such as `PodList`; empty if absent.
    pub kind: String,
    /// The resourceVersion.
    pub version: Option<ResourceVersion>,
    /// The token to request the next page; `None` on the last page.
    pub continue_token: Option<String>,
    /// The number of items in the following pages, if the server reports it.
    pub remaining: Option<u64>,
    /// `shardInfo.selector`: the shard selector that the server applied; `None` if it applied none.
    pub shard_selector: Option<String>,
}
