//! A cache that outlives its process: what is saved of it, by whom, and how it is read back.

mod save;
mod program;
mod cluster;
mod moment;
mod dictionaries;
mod saver;
mod open;
mod folders;

#[cfg(test)]
mod tests;

pub use cluster::cluster_uid;
pub(super) use folders::{Folders, Verdict};
pub(super) use moment::Moment;
pub(super) use open::{Opened, Place, State, Target, open};
pub use save::Save;
pub(super) use saver::Saver;
