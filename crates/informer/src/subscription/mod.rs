//! Following a cache: what there is, then every change, each follower at its own pace.
//!
//! What happens is written once, to a log that all followers read; an event costs the same whoever listens. A follower
//! that falls behind says by its [`Policy`] what is to be done about it, and none can hold up another, except where it
//! says that it wants to.

mod event_log;
mod coalesce;
mod policy;
mod options;
mod reader;
pub mod metrics;
mod subscriber;
mod event_batch;
mod broadcaster;
mod follower;
mod registration;
mod stream;
mod handler;
mod attach;

#[cfg(test)]
mod tests;

pub use attach::AddError;
pub use handler::{Async, EventHandler};
pub(crate) use broadcaster::Hub;
pub use options::{Replay, Subscribe};
pub use policy::Policy;
pub use registration::Registration;
pub use stream::Subscription;
