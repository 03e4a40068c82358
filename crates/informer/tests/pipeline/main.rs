//! Reflectors, caches and informers against a development server with faults.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]
#![expect(clippy::duplicate_mod, reason = "the tests of subscribers run with two storages")]

mod cache_state;
mod client_retries;
mod cluster;
mod compressed;
mod controller_properties;
mod controller_runtime;
mod controller_writes;
mod controllers;
// Uses Linux resource limits.
#[cfg(target_os = "linux")]
mod full_disk;
mod dead_connections;
mod full_state;
mod handlers;
mod harness;
mod index_paths;
mod informers;
mod interrupted_watches;
mod lazy;
mod leases;
mod list_compression;
mod lists;
mod manager;
mod many_subscribers;
mod mutation_cache;
mod namespaces;
mod order;
mod ported_controllers;
mod production_incidents;
mod random_faults;
mod recordings;
mod kinds;
mod restart;
mod restart_properties;
mod resync;
mod robustness;
// Changes the owner of files.
#[cfg(unix)]
mod saved_folder_owner;
mod scripted_server;
mod served_differently;
mod shards;
mod skipped_objects;
mod store_transform;
mod store_version;
mod streaming_lists;
mod subscribers;
#[path = "subscribers.rs"]
mod subscribers_compressed;
mod sync;
mod website_operator;
mod wrong_kind;
