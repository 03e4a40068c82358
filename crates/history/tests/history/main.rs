//! Recording and reading through the public API.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod fixture;
mod model;
mod damage;
mod recording;
mod reading;
mod concurrent;
