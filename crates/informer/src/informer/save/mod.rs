//! Saves a cache to disk, and restores it in the next process.

mod options;
mod format_id;
mod cluster;
mod dictionaries;
mod saver;
mod open;
mod savers;

#[cfg(test)]
mod tests;

pub use cluster::cluster_uid;
pub(super) use format_id::FormatId;
pub(super) use open::{Opened, RestoredObjects, SaveConfig, SaveRequest, SaveTarget, open};
pub use options::Save;
pub(super) use saver::{AppliedState, Saver};
pub(super) use savers::{ClusterCheck, Savers};
