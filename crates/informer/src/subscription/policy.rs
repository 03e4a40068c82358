//! What happens when a subscriber falls behind.

use std::num::NonZeroUsize;

/// What happens when a subscriber falls behind.
///
/// `Unbounded` and `Block` always deliver every event in watch order. `Coalesce` does too until the subscriber falls behind,
/// then folds per key for that subscriber only.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::subscription::{Policy, SubscribeOptions};
///
/// // Deliver every event; the informer pauses while this subscriber is 1,000 events behind.
/// let options = SubscribeOptions::<Pod>::new().policy(Policy::block(1000));
/// assert_eq!(Policy::default(), Policy::coalesce(4096));
/// # drop(options);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Delivers every event, no matter how far the subscriber is behind. Memory grows with the backlog.
    Unbounded,
    /// Delivers every event. Once the subscriber is this many events behind, the informer waits for it: the cache and all
    /// other subscribers wait too, while the watch connection stays open.
    ///
    /// A handler that waits for the cache to change must not use this policy: it would wait for itself.
    Block(NonZeroUsize),
    /// Delivers every event until the subscriber is this many events behind. Then its backlog is folded per key: it
    /// receives the latest state of each object and the deletion of every object it had received. A resync of another subscriber
    /// is treated as one event.
    ///
    /// Memory is bounded by the number of keys: for each key at most the state that the subscriber knows, the last state
    /// before a deletion, and the latest state, which is shared with the cache.
    Coalesce(NonZeroUsize),
}

impl Policy {
    /// Returns [`Policy::Block`] with a maximum backlog of `events`; zero is treated as one.
    #[must_use]
    pub fn block(events: usize) -> Self {
        Self::Block(NonZeroUsize::new(events).unwrap_or(NonZeroUsize::MIN))
    }

    /// Returns [`Policy::Coalesce`] with a maximum backlog of `events`; zero is treated as one.
    #[must_use]
    pub fn coalesce(events: usize) -> Self {
        Self::Coalesce(NonZeroUsize::new(events).unwrap_or(NonZeroUsize::MIN))
    }

    /// Returns the limit if the backlog blocks the informer.
    pub(super) fn block_limit(self) -> Option<u64> {
        match self {
            Self::Block(events) => Some(events.get() as u64),
            Self::Unbounded | Self::Coalesce(_) => None,
        }
    }

    /// Returns the limit if the backlog is coalesced.
    pub(super) fn coalesce_limit(self) -> Option<u64> {
        match self {
            Self::Coalesce(events) => Some(events.get() as u64),
            Self::Unbounded | Self::Block(_) => None,
        }
    }
}

/// Coalesces beyond 4,096 events.
impl Default for Policy {
    fn default() -> Self {
        Self::coalesce(4096)
    }
}
