//! A reflector, a queue and a store against a real API: after whatever goes wrong, the cache is the server.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]
#![expect(clippy::duplicate_mod, reason = "what follows a cache is held against both ways to keep objects")]

mod chaos;
mod cluster;
mod compact;
mod controllers;
mod crowd;
mod cuts;
mod followers;
#[path = "followers.rs"]
mod followers_compact;
// Limits are set as Linux has them.
#[cfg(target_os = "linux")]
mod full_disk;
mod gaps;
mod handlers;
mod informers;
mod kinds;
mod lazy;
mod lists;
mod lives;
mod namespaces;
mod order;
mod production;
mod restarts;
mod shards;
mod strangers;
mod streams;
mod syncing;
mod world;
