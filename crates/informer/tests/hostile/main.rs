//! Servers that mean harm, on sockets: limits hold, errors say what came, and the informer goes on.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

use peak_alloc::PeakAlloc;

mod bait;
mod case;
mod server;

mod lists;
mod secrets;
mod streams;
mod watches;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;
