//! Tests that the saved state is restored after kills, damage and errors.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod model;
mod file_parts;
mod subprocess;
mod reopen;
mod fixtures;
mod damaged;
mod mutated;
// Uses the limits of Linux.
#[cfg(target_os = "linux")]
mod memory_limit;
mod killed;
// Uses the limits of Linux.
#[cfg(target_os = "linux")]
mod full_disk;
mod folder;
mod mismatch;
mod full_queue;
mod compaction;
