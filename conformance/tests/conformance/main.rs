//! The same claims held against the devserver and, with the feature `__cluster`, against a real kube-apiserver.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod maps;
mod objects;
mod writes;
mod applying;
mod lifecycle;
mod lists;
mod watches;
mod following;
mod definitions;
mod expiry;
mod outages;
mod network;
mod access;
mod shards;
// Eighty types take longer to compile than all the rest, so that they are for one step alone.
#[cfg(feature = "__cluster")]
mod kinds;
// The programs that it runs are built by that step, too.
#[cfg(feature = "__cluster")]
mod command;
