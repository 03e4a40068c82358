//! Claims about a Kubernetes API, checked against the devserver, or against the kube-apiserver that `cargo xtask test cluster` starts.
//!
//! `cluster.rs` has the claims that need other programs.

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
mod random_operations;
mod recording;
