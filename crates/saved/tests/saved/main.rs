//! What is saved is what is restored, whatever happens in between.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod model;
mod layout;
mod child;
mod reopen;
mod torn;
mod mutated;
// Limits are set as Linux has them.
#[cfg(target_os = "linux")]
mod hostile;
mod killed;
// Limits are set as Linux has them.
#[cfg(target_os = "linux")]
mod full_disk;
mod folder;
mod refused;
mod behind;
mod compacted;
