//! Malicious servers, over sockets: limits hold, errors are reported, and the informer recovers.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

use peak_alloc::PeakAlloc;

mod hostile_response;
mod case;
mod server;

#[cfg(feature = "saved")]
mod cluster_uid;
mod compressed_lists;
mod lists;
mod memory;
mod secrets;
mod streams;
mod watches;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;
