//! What is around the items of a list.

use crate::version::ResourceVersion;

/// What a list says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListMeta {
    /// `v1`, `apps/v1` and so on; empty if the list does not say.
    pub api_version: String,
    /// `PodList` and so on; empty if the list does not say.
    pub kind: String,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// What to send for the next page; nothing on the last one.
    pub continue_token: Option<String>,
    /// How many items the following pages hold, if the server says.
    pub remaining: Option<u64>,
}
