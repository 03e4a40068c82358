//! What every Rust client of the benchmarks shares, so that all are asked the same and report the same.
//!
//! A client is started with [`Options`](options::Options), says a line of JSON when it has synced and another when it has settled, and then
//! takes orders on standard input until that ends: see [`session`].

pub mod options;
pub mod usage;
pub mod subject;
pub mod hash;
pub mod latency;
pub mod seen;
pub mod session;
