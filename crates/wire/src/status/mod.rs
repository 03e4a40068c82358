//! What a server says when it refuses, or has done, what it was asked: [`Status`](kube_core::Status).

mod questions;

mod body;

#[cfg(test)]
mod tests;

pub use body::{parse_retry_after, status_from_body, status_to_json};
pub use questions::StatusExt;
