//! Saves a cache to disk, and restores it in the next process.
//!
//! Without the feature `saved`, the same types exist without values ([`disabled`]), so that the informer needs no conditions.

mod interface;
#[cfg(not(feature = "saved"))]
mod disabled;
#[cfg(feature = "saved")]
mod options;
#[cfg(feature = "saved")]
mod format_id;
#[cfg(feature = "saved")]
mod cluster;
#[cfg(feature = "saved")]
mod dictionaries;
#[cfg(feature = "saved")]
mod saver;
#[cfg(feature = "saved")]
mod open;
#[cfg(feature = "saved")]
mod savers;

#[cfg(test)]
mod tests;

#[cfg(feature = "saved")]
pub use cluster::cluster_uid;
#[cfg(not(feature = "saved"))]
pub(super) use disabled::{Save, SaveConfig, Saver, Savers};
pub(super) use interface::{AppliedState, ClusterCheck, RestoredObjects, SaveRequest, SavedSource};
#[cfg(feature = "saved")]
pub(super) use open::SaveConfig;
#[cfg(feature = "saved")]
pub use options::Save;
#[cfg(feature = "saved")]
pub(super) use saver::Saver;
#[cfg(feature = "saved")]
pub(super) use savers::Savers;
