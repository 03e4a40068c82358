//! What happens when a follower falls behind.

use std::num::NonZeroUsize;

/// What happens when a follower falls behind.
///
/// Whichever it is, other followers and readers of the cache notice nothing, but for `Block`, which is there to make
/// everyone wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// It is told every event, however far behind it is. Memory grows with the distance.
    Unbounded,
    /// Once it is this many events behind, the informer waits for it, and with it the cache and every other follower.
    /// The server's watch stays open meanwhile. A handler that waits for the cache to move on must not ask for this.
    Block(NonZeroUsize),
    /// It is told every event while it keeps up. Once it is this many events behind, what it has not been told is folded:
    /// it is told the latest state of each key, and of every deletion of something it knew. Memory is bounded by the
    /// number of keys: of each, what is held for it is the state it knew, the last one before a deletion, and the latest,
    /// which the cache has anyway.
    Coalesce(NonZeroUsize),
}

impl Policy {
    /// Waits for the follower once it is `events` behind; zero counts as one.
    #[must_use]
    pub fn block(events: usize) -> Self {
        Self::Block(NonZeroUsize::new(events).unwrap_or(NonZeroUsize::MIN))
    }

    /// Folds what the follower has not been told once it is `events` behind; zero counts as one.
    #[must_use]
    pub fn coalesce(events: usize) -> Self {
        Self::Coalesce(NonZeroUsize::new(events).unwrap_or(NonZeroUsize::MIN))
    }

    /// Up to how many events the follower may be behind before something is done about it.
    pub(super) fn limit(self) -> u64 {
        match self {
            Self::Unbounded => u64::MAX,
            Self::Block(events) | Self::Coalesce(events) => events.get() as u64,
        }
    }
}

/// Every event to those who keep up, and bounded memory for those who do not.
impl Default for Policy {
    fn default() -> Self {
        Self::coalesce(4096)
    }
}
