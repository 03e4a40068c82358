//! Claims that are checked against the devserver.
//!
//! `cluster.rs` is the target that checks them against a real kube-apiserver.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

use kube_conformance::on_devserver as claims;

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
mod random_operations;
mod recording;
