//! Claims that are checked against the devserver and, with the feature `__cluster`, against a real kube-apiserver.

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
mod schemas;
mod rules;
mod unknown_fields;
mod expiry;
mod outages;
mod network;
mod network_faults;
mod access;
mod permissions;
mod shards;
mod https;
mod webhooks;
mod policies;
mod conversion;
mod comparison;
mod recording;
// Eighty types take longer to compile than the rest, so they are part of one step only.
#[cfg(feature = "__cluster")]
mod kinds;
// That step builds the programs, too.
#[cfg(feature = "__cluster")]
mod programs;
#[cfg(feature = "__cluster")]
mod command;
#[cfg(feature = "__cluster")]
mod deploy;
#[cfg(feature = "__cluster")]
mod rollout;
