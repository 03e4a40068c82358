//! Informers: up-to-date caches of resources that deliver events to subscribers.

mod sync_error;
mod start_error;
mod cache_state;
mod namespace_error;
mod sync;
mod status;
mod metrics_name;
mod wait_for_sync;
mod save;
mod source_spec;
mod shared_settings;
mod modify_options;
mod origin;
mod restore;
mod cache_sink;
mod leased_shards;
mod inner;
#[cfg(feature = "leases")]
mod shard_sources;
mod until;
mod handle;
mod builder;
mod registry;

#[cfg(test)]
mod tests;

pub use builder::InformerBuilder;
pub use cache_state::CacheState;
pub use handle::{Informer, WrittenError};
pub use namespace_error::NamespaceError;
pub use registry::{Informers, InformersBuilder, InformersSnapshot};
#[cfg(feature = "saved")]
#[cfg_attr(docsrs, doc(cfg(feature = "saved")))]
pub use save::{Save, cluster_uid};
pub use source_spec::ServedResource;
pub use start_error::StartError;
pub use status::{
    InformerPhase, InformerStatus, RestoredState, SaveStatus, SourceStatus, StatusWatch, SubscriberStatus,
    Times,
};
pub use sync_error::SyncError;
pub use until::{InformerWatch, UntilError};
pub use wait_for_sync::{NotSyncedError, NotSyncedReason, Synced, wait_for_sync};
