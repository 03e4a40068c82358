//! client-go's informer machinery for Rust: an indexed, always-fresh local copy of Kubernetes resources.

mod sync;
#[cfg(test)]
mod testing;
pub mod list_watch;
mod listing;
pub mod reflector;
pub mod fifo;
pub mod store;
pub mod controller;

pub use kube_informer_wire as wire;
pub use listing::Listing;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
