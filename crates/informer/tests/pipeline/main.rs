//! A reflector, a queue and a store against a real API: after whatever goes wrong, the cache is the server.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod chaos;
mod cluster;
mod compact;
mod controllers;
mod crowd;
mod cuts;
mod followers;
#[path = "followers.rs"]
mod followers_compact;
mod handlers;
mod informers;
mod kinds;
mod lists;
mod namespaces;
mod production;
mod shards;
mod strangers;
mod streams;
mod syncing;
mod world;
