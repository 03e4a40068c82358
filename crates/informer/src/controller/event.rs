//! What a handler is told.

use std::{fmt, sync::Arc};

/// A change of the cache, as a handler sees it.
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
        /// Its last state that is known.
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

    /// Whether nothing changed: old and new are one and the same.
    #[must_use]
    pub fn is_sync(&self) -> bool {
        matches!(self, Self::Updated { old, new } if Arc::ptr_eq(old, new))
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
        let Self::Updated { old, new } = self else {
            return passes(self.object()).then_some(self);
        };
        match (passes(&old), passes(&new)) {
            (true, true) => Some(Self::Updated { old, new }),
            (false, true) => Some(Self::Added { object: new, initial: false }),
            (true, false) => Some(Self::Deleted { last_known: old, observed: true }),
            (false, false) => None,
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: Arc::clone(object), initial: *initial },
            Self::Updated { old, new } => Self::Updated { old: Arc::clone(old), new: Arc::clone(new) },
            Self::Deleted { last_known, observed } => {
                Self::Deleted { last_known: Arc::clone(last_known), observed: *observed }
            }
        }
    }
}

impl<K: fmt::Debug> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { object, initial } => {
                f.debug_struct("Added").field("object", object).field("initial", initial).finish()
            }
            Self::Updated { old, new } => {
                f.debug_struct("Updated").field("old", old).field("new", new).finish()
            }
            Self::Deleted { last_known, observed } => {
                f.debug_struct("Deleted").field("last_known", last_known).field("observed", observed).finish()
            }
        }
    }
}
