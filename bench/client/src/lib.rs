//! Shared parts of the benchmark programs, so that all clients get the same options and commands and report the same values.
//!
//! A client is started with [`ClientOptions`](options::ClientOptions). It prints a line of JSON when it has synced and another one when
//! its memory has settled. Then it reads commands from standard input until that is closed: see [`session`].

pub mod options;
pub mod usage;
pub mod object;
pub mod fingerprint;
pub mod latency;
pub mod recorder;
pub mod session;
pub mod child;
