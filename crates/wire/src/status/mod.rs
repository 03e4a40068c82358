//! The [`Status`](kube_core::Status) of a response.

mod kind;

mod body;

#[cfg(test)]
mod tests;

pub use body::{parse_retry_after, status_from_body, status_to_json};
pub use kind::StatusExt;
