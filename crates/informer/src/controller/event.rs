//! What a handler is told.

use crate::store::is_same_state;
use kube_core::Resource;
use std::sync::Arc;

/// A change of the cache, as a handler sees it.
#[derive(Debug)]
pub enum Event<K> {
    /// An object came to be.
    Added {
        /// The object.
        object: Arc<K>,
        /// Whether it was there from the start: part of the first list, not of a change.
        initial: bool,
    },
    /// An object changed, or is told again (see [`Event::is_sync`]).
    Updated {
        /// The state that handlers knew.
        old: Arc<K>,
        /// The state there is now.
        new: Arc<K>,
    },
    /// An object went away.
    Deleted {
        /// The state that handlers knew.
        old: Arc<K>,
        /// Its last state that is known; newer than what handlers knew, if its final state was seen.
        last_known: Arc<K>,
        /// Whether the deletion was seen, so that `last_known` is the final state. Otherwise the object was missing
        /// from a later list, and may have changed before it went: client-go's `DeletedFinalStateUnknown`.
        observed: bool,
    },
}

impl<K> Event<K> {
    /// An update that only tells again what is known: from a resync, or a relist that found the same version.
    #[must_use]
    pub fn sync(object: Arc<K>) -> Self {
        Self::Updated { old: Arc::clone(&object), new: object }
    }

    /// Whether this only tells again what is known: old and new are one state, by uid and version.
    #[must_use]
    pub fn is_sync(&self) -> bool
    where
        K: Resource,
    {
        matches!(self, Self::Updated { old, new } if Arc::ptr_eq(old, new) || is_same_state(&**old, &**new))
    }

    /// The object this is about, in its newest known state.
    #[must_use]
    pub fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last_known, .. } => last_known,
        }
    }

    /// The event as someone sees it for whom only those objects exist that pass.
    ///
    /// An update that crosses the line becomes an addition or a deletion.
    #[must_use]
    pub fn filtered(self, passes: impl Fn(&K) -> bool) -> Option<Self> {
        match self {
            Self::Added { ref object, .. } => passes(object).then_some(self),
            // Who was told of the object is to be told of its end, whatever became of it in between.
            Self::Deleted { ref old, .. } => passes(old).then_some(self),
            Self::Updated { old, new } => match (passes(&old), passes(&new)) {
                (true, true) => Some(Self::Updated { old, new }),
                (false, true) => Some(Self::Added { object: new, initial: false }),
                (true, false) => Some(Self::Deleted { last_known: Arc::clone(&old), old, observed: true }),
                (false, false) => None,
            },
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: Arc::clone(object), initial: *initial },
            Self::Updated { old, new } => Self::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Deleted { old, last_known, observed } => {
                let (old, last_known) = (Arc::clone(old), Arc::clone(last_known));
                Self::Deleted { old, last_known, observed: *observed }
            }
        }
    }
}
