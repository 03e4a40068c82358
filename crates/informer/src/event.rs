//! What a handler is told.

use crate::object::Object;
use kube_core::Resource;

/// A change of the cache, as a handler sees it.
///
/// Its objects read like the `K` they stand for; see [`Object`] for where they are decoded by that.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::Event;
///
/// fn told(event: &Event<Pod>) -> String {
///     let name = event.object().metadata.name.as_deref().unwrap_or_default();
///     match event {
///         Event::Added { initial: true, .. } => format!("{name} was there"),
///         Event::Added { .. } => format!("{name} is new"),
///         Event::Updated { .. } if event.is_sync() => format!("{name} is as it was"),
///         Event::Updated { old, new } if old.spec != new.spec => format!("{name} is to be something else"),
///         Event::Updated { .. } => format!("{name} fares differently"),
///         Event::Deleted { observed: false, .. } => format!("{name} is gone, and nobody saw it go"),
///         Event::Deleted { .. } => format!("{name} is gone"),
///     }
/// }
///
/// let mut pod = Pod::default();
/// pod.metadata.name = Some("front".into());
/// pod.metadata.resource_version = Some("7".into());
/// assert_eq!(told(&Event::sync(std::sync::Arc::new(pod))), "front is as it was");
/// ```
#[derive(Debug)]
pub enum Event<K> {
    /// An object came to be.
    Added {
        /// The object.
        object: Object<K>,
        /// Whether it was there from the start: part of the first list, not of a change.
        initial: bool,
    },
    /// An object changed, or is told again (see [`Event::is_sync`]).
    Updated {
        /// The state that handlers knew.
        old: Object<K>,
        /// The state there is now.
        new: Object<K>,
    },
    /// An object went away.
    Deleted {
        /// The state that handlers knew.
        old: Object<K>,
        /// Its last state that is known; newer than what handlers knew, if its final state was seen.
        last_known: Object<K>,
        /// Whether the deletion was seen, so that `last_known` is the final state. Otherwise the object was missing
        /// from a later list, and may have changed before it went: client-go's `DeletedFinalStateUnknown`.
        observed: bool,
    },
}

impl<K> Event<K> {
    /// An update that only tells again what is known: from a resync, or a relist that found the same version.
    #[must_use]
    pub fn sync(object: impl Into<Object<K>>) -> Self {
        let object = object.into();
        Self::Updated { old: object.clone(), new: object }
    }

    /// Whether this only tells again what is known: old and new are one state, by uid and version.
    #[must_use]
    pub fn is_sync(&self) -> bool
    where
        K: Resource,
    {
        matches!(self, Self::Updated { old, new } if old.ptr_eq(new) || old.is_same_state(new))
    }

    /// The object this is about, in its newest known state.
    #[must_use]
    pub fn object(&self) -> &Object<K> {
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
                (true, false) => Some(Self::Deleted { last_known: old.clone(), old, observed: true }),
                (false, false) => None,
            },
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added { object: object.clone(), initial: *initial },
            Self::Updated { old, new } => Self::Updated { old: old.clone(), new: new.clone() },
            Self::Deleted { old, last_known, observed } => {
                let (old, last_known) = (old.clone(), last_known.clone());
                Self::Deleted { old, last_known, observed: *observed }
            }
        }
    }
}
