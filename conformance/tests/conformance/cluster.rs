//! Claims that are checked against a real kube-apiserver, and those that need other programs against both servers.
//!
//! `cargo xtask test cluster` builds the programs, and selects this target by name.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

use kube_conformance::on_cluster as claims;

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
mod random_operations;
mod recording;
mod kinds;
mod programs;
mod command;
mod deploy;
mod rollout;
