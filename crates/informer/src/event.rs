//! The events that subscribers receive.

use crate::object::Object;
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError};
use std::sync::Arc;

/// A change of the cache.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::event::{Deletion, Event, Phase, UpdateCause};
///
/// fn describe(event: &Event<Pod>) -> String {
///     let key = event.key();
///     match event {
///         Event::Added { phase: Phase::Initial, .. } => format!("{key} existed before"),
///         Event::Added { .. } => format!("{key} was created"),
///         Event::Updated { cause: UpdateCause::Resync, .. } => format!("{key} is unchanged"),
///         Event::Updated { old, new, .. } if old.get().spec != new.get().spec => format!("the spec of {key} changed"),
///         Event::Updated { .. } => format!("the status or metadata of {key} changed"),
///         Event::Deleted { deletion: Deletion::Inferred, .. } => format!("{key} was missing in a list"),
///         Event::Deleted { .. } => format!("{key} was deleted"),
///         Event::Released { .. } => format!("{key} belongs to another replica"),
///         _ => format!("{key}: unknown event"),
///     }
/// }
///
/// let mut pod = Pod::default();
/// pod.metadata.name = Some("front".into());
/// assert_eq!(describe(&Event::resync(pod)?), "front is unchanged");
/// # Ok::<(), kube_informer::wire::KeyError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<K> {
    /// An object was added to the cache.
    #[non_exhaustive]
    Added {
        /// The key of the object.
        key: Key,
        /// The object.
        object: Object<K>,
        /// Whether the object existed before the subscription.
        phase: Phase,
    },
    /// An object changed, or is delivered again by a resync.
    #[non_exhaustive]
    Updated {
        /// The key of the object.
        key: Key,
        /// The previous state.
        old: Object<K>,
        /// The current state.
        new: Object<K>,
        /// Whether the object changed.
        cause: UpdateCause,
    },
    /// An object was removed from the cache.
    #[non_exhaustive]
    Deleted {
        /// The key of the object.
        key: Key,
        /// The previous state in the cache.
        old: Object<K>,
        /// The last known state: the final one if the deletion was observed, otherwise the same as `old`.
        last_known: Object<K>,
        /// How the deletion became known.
        deletion: Deletion,
    },
    /// An object was removed from the cache because the informer does not cover it any more: its namespace was
    /// [removed](crate::Informer::remove_namespace), or its shard was released or lost. The object may still exist.
    #[non_exhaustive]
    Released {
        /// The key of the object.
        key: Key,
        /// The last state in the cache.
        last_known: Object<K>,
    },
}

/// When an object was added, from the point of view of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Part of the initial list: it existed before the informer started, or before the subscription.
    Initial,
    /// Added since.
    Live,
}

/// Why an update is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateCause {
    /// The object changed.
    Changed,
    /// The object is delivered again, unchanged: by a resync, or by a relist that returned the same version.
    Resync,
}

/// How a deletion became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The server reported it, with the final state of the object.
    Observed,
    /// The object was missing in a relist. It may have changed before it was deleted: client-go's
    /// `DeletedFinalStateUnknown`.
    Inferred,
}

impl<K> Event<K> {
    pub(crate) fn added(key: Key, object: Object<K>, phase: Phase) -> Self {
        Self::Added { key, object, phase }
    }

    pub(crate) fn updated(key: Key, old: Object<K>, new: Object<K>, cause: UpdateCause) -> Self {
        Self::Updated { key, old, new, cause }
    }

    /// An object of the cache, delivered again.
    pub(crate) fn resynced(key: Key, object: Object<K>) -> Self {
        Self::Updated { key, old: object.clone(), new: object, cause: UpdateCause::Resync }
    }

    /// An object that was missing in a list.
    pub(crate) fn vanished(key: Key, old: Object<K>) -> Self {
        Self::Deleted { key, last_known: old.clone(), old, deletion: Deletion::Inferred }
    }

    /// An object that the informer does not cover any more.
    pub(crate) fn released(key: Key, last_known: Object<K>) -> Self {
        Self::Released { key, last_known }
    }

    /// The key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Added { key, .. }
            | Self::Updated { key, .. }
            | Self::Deleted { key, .. }
            | Self::Released { key, .. } => key,
        }
    }

    /// The object in its newest known state.
    #[must_use]
    pub fn object(&self) -> &Object<K> {
        match self {
            Self::Added { object, .. } => object,
            Self::Updated { new, .. } => new,
            Self::Deleted { last_known, .. } | Self::Released { last_known, .. } => last_known,
        }
    }

    /// Whether the object is delivered again without a change.
    #[must_use]
    pub fn is_resync(&self) -> bool {
        matches!(self, Self::Updated { cause: UpdateCause::Resync, .. })
    }

    /// Returns the event as it appears to a subscriber for which only the objects exist that pass.
    ///
    /// If an update changes whether the object passes, it becomes an addition or a deletion.
    #[must_use]
    pub fn filtered(self, passes: impl Fn(&K) -> bool) -> Option<Self> {
        match self {
            Self::Added { ref object, .. } => passes(object.get()).then_some(self),
            // A subscriber that has the object must receive its deletion, regardless of the final state.
            Self::Deleted { ref old, .. } | Self::Released { last_known: ref old, .. } => {
                passes(old.get()).then_some(self)
            }
            Self::Updated { key, old, new, cause } => match (passes(old.get()), passes(new.get())) {
                (true, true) => Some(Self::Updated { key, old, new, cause }),
                (false, true) => Some(Self::Added { key, object: new, phase: Phase::Live }),
                (true, false) => {
                    let deletion = Deletion::Observed;
                    Some(Self::Deleted { key, last_known: old.clone(), old, deletion })
                }
                (false, false) => None,
            },
        }
    }
}

/// Events for tests of handlers.
impl<K: Resource> Event<K> {
    /// Creates the event of a new object.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn create(object: impl Into<Arc<K>>) -> Result<Self, KeyError> {
        let object = object.into();
        Ok(Self::added(Key::of(&*object)?, object.into(), Phase::Live))
    }

    /// Creates the event of an object that existed before.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn initial(object: impl Into<Arc<K>>) -> Result<Self, KeyError> {
        let object = object.into();
        Ok(Self::added(Key::of(&*object)?, object.into(), Phase::Initial))
    }

    /// Creates the event of a changed object.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn update(old: impl Into<Arc<K>>, new: impl Into<Arc<K>>) -> Result<Self, KeyError> {
        let new = new.into();
        Ok(Self::updated(Key::of(&*new)?, old.into().into(), new.into(), UpdateCause::Changed))
    }

    /// Creates the event of an unchanged object that is delivered again.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn resync(object: impl Into<Arc<K>>) -> Result<Self, KeyError> {
        let object = object.into();
        Ok(Self::resynced(Key::of(&*object)?, object.into()))
    }

    /// Creates the event of an object that was deleted in this state.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn delete(last_known: impl Into<Arc<K>>, deletion: Deletion) -> Result<Self, KeyError> {
        let object: Object<K> = Object::from(last_known.into());
        Ok(Self::Deleted { key: Key::of(object.get())?, old: object.clone(), last_known: object, deletion })
    }

    /// Creates the event of an object that the informer does not cover any more.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn release(last_known: impl Into<Arc<K>>) -> Result<Self, KeyError> {
        let last_known: Object<K> = Object::from(last_known.into());
        Ok(Self::released(Key::of(last_known.get())?, last_known))
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { key, object, phase } => {
                Self::Added { key: key.clone(), object: object.clone(), phase: *phase }
            }
            Self::Updated { key, old, new, cause } => {
                Self::Updated { key: key.clone(), old: old.clone(), new: new.clone(), cause: *cause }
            }
            Self::Deleted { key, old, last_known, deletion } => Self::Deleted {
                key: key.clone(),
                old: old.clone(),
                last_known: last_known.clone(),
                deletion: *deletion,
            },
            Self::Released { key, last_known } => {
                Self::Released { key: key.clone(), last_known: last_known.clone() }
            }
        }
    }
}
