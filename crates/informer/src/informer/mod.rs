//! What most users want: a cache of a resource, kept up to date, followed by many.

mod sync_error;
mod start_error;
mod progress;
mod status;
mod waiting;
mod body;
mod handle;
mod builder;
mod registry;

pub use builder::Builder;
pub use handle::Informer;
pub use registry::Informers;
pub use start_error::StartError;
pub use status::{FollowerStatus, Phase, Source, Status, StatusWatch, Times};
pub use sync_error::SyncError;
pub use waiting::{NotSynced, Synced, Why, synced_all};
