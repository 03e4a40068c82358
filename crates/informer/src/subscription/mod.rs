//! Delivers the changes of a cache to subscribers: the initial list, then every change, each at its own pace.
//!
//! Each event is written once, to a log that all subscribers read, so its cost does not depend on the number of subscribers.
//! The [`Policy`] of a subscriber decides what happens when it falls behind. A slow subscriber does not affect the cache or
//! other subscribers, unless its policy is [`Policy::Block`].

mod policy;
mod options;
pub mod metrics;
mod event_log;
mod coalesce;
mod reader;
mod broadcaster;
mod registration;
mod stream;
mod handler;

#[cfg(test)]
mod tests;

pub(crate) use broadcaster::Broadcaster;
pub(crate) use handler::add_handler;
pub use handler::{AddHandlerError, Async, EventHandler};
pub use options::{Replay, SubscribeOptions};
pub use policy::Policy;
pub use registration::Registration;
pub use stream::Subscription;
