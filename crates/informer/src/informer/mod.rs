//! What most users want: a cache of a resource, kept up to date, followed by many.

mod sync_error;
mod start_error;
mod origin;
mod sync;
mod status;
mod wait_for_sync;
#[cfg(feature = "saved")]
mod save;
mod inner;
#[cfg(feature = "saved")]
mod restore;
mod handle;
mod builder;
mod keeping;
#[cfg(feature = "saved")]
mod save_to;
mod registry;

#[cfg(test)]
mod tests;

pub use builder::Builder;
pub use handle::Informer;
pub use registry::Informers;
#[cfg(feature = "saved")]
pub use save::{Save, cluster_uid};
pub use start_error::StartError;
pub use status::{FollowerStatus, Phase, Restored, Saving, Source, Status, StatusWatch, Times};
pub use sync_error::SyncError;
pub use wait_for_sync::{NotSynced, Synced, Why, synced_all};
