//! Predicates, which select the events that cause a reconcile.
//!
//! A predicate is any function `Fn(&Event<K>) -> bool`; this module has the common ones. Combine them with the methods of
//! [`Predicate`]:
//!
//! ```
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube_informer::{Event, Informer, controller::{Controller, predicates::{self, Predicate}}};
//!
//! fn controller(deployments: &Informer<Deployment>) -> Controller<Deployment> {
//!     let is_paused = |event: &Event<Deployment>| event.object().get().spec.paused == Some(true);
//!     let is_relevant = predicates::generation.or(predicates::labels).and(predicates::not(is_paused));
//!     Controller::new(deployments).filter(is_relevant)
//! }
//! ```
//!
//! Each predicate of this module compares the old with the new state of an update. It returns true for all other events:
//! additions, deletions, [resyncs](Event::is_resync), and an object that was deleted and created again between two events. Only
//! [`resource_version`] returns false for resyncs.

use crate::event::Event;
use kube_core::{ObjectMeta, Resource};

/// A function that decides whether an event causes a reconcile. Implemented for all functions `Fn(&Event<K>) -> bool`.
#[doc(alias = "predicate")]
#[doc(alias = "predicate_filter")]
pub trait Predicate<K>: Send + Sync + 'static {
    /// Returns true if the event causes a reconcile.
    fn matches(&self, event: &Event<K>) -> bool;

    /// Returns a predicate that matches if at least one of both matches.
    #[doc(alias = "combine")]
    fn or(self, other: impl Predicate<K>) -> impl Fn(&Event<K>) -> bool + Send + Sync + 'static
    where
        Self: Sized,
    {
        move |event: &Event<K>| self.matches(event) || other.matches(event)
    }

    /// Returns a predicate that matches if both match.
    fn and(self, other: impl Predicate<K>) -> impl Fn(&Event<K>) -> bool + Send + Sync + 'static
    where
        Self: Sized,
    {
        move |event: &Event<K>| self.matches(event) && other.matches(event)
    }
}

impl<K, F: Fn(&Event<K>) -> bool + Send + Sync + 'static> Predicate<K> for F {
    fn matches(&self, event: &Event<K>) -> bool {
        self(event)
    }
}

/// Returns a predicate that matches if `predicate` does not.
///
/// The negation covers all events: `not(labels)` also rejects additions, for which [`labels`] returns true.
pub fn not<K>(predicate: impl Predicate<K>) -> impl Fn(&Event<K>) -> bool + Send + Sync + 'static {
    move |event: &Event<K>| !predicate.matches(event)
}

/// Returns false for changes of the status and of the metadata only.
///
/// The server increments `metadata.generation` when the spec changes. This returns true if the generation, the finalizers or the
/// deletion timestamp changed: adding a finalizer does not change the generation, so a controller that adds one and waits for
/// the event would otherwise wait forever. It returns true for all changes of kinds without a generation, such as `ConfigMap`.
#[must_use]
#[doc(alias = "GenerationChangedPredicate")]
#[doc(alias = "generation_changed")]
pub fn generation<K: Resource>(event: &Event<K>) -> bool {
    has_changed(event, |old, new| {
        new.generation.is_none()
            || old.generation != new.generation
            || are_finalizers_different(old, new)
            || old.deletion_timestamp != new.deletion_timestamp
    })
}

/// Returns true if the labels changed.
#[must_use]
pub fn labels<K: Resource>(event: &Event<K>) -> bool {
    has_changed(event, |old, new| {
        old.labels.as_ref().filter(|labels| !labels.is_empty())
            != new.labels.as_ref().filter(|labels| !labels.is_empty())
    })
}

/// Returns true if the annotations changed.
#[must_use]
pub fn annotations<K: Resource>(event: &Event<K>) -> bool {
    has_changed(event, |old, new| {
        old.annotations.as_ref().filter(|annotations| !annotations.is_empty())
            != new.annotations.as_ref().filter(|annotations| !annotations.is_empty())
    })
}

/// Returns true if the finalizers changed.
#[must_use]
pub fn finalizers<K: Resource>(event: &Event<K>) -> bool {
    has_changed(event, are_finalizers_different)
}

/// Returns true if the deletion timestamp changed: the deletion of an object with finalizers was requested.
#[must_use]
pub fn deletion_timestamp<K: Resource>(event: &Event<K>) -> bool {
    has_changed(event, |old, new| old.deletion_timestamp != new.deletion_timestamp)
}

/// Returns true if the resource version changed. Unlike the other predicates, it returns false for resyncs.
#[must_use]
#[doc(alias = "ResourceVersionChangedPredicate")]
pub fn resource_version<K: Resource>(event: &Event<K>) -> bool {
    match event {
        Event::Updated { old, new, .. } => {
            old.get().meta().resource_version != new.get().meta().resource_version
        }
        Event::Added { .. } | Event::Deleted { .. } | Event::Released { .. } => true,
    }
}

/// Compares the metadata of an update. Returns true for other events.
fn has_changed<K: Resource>(
    event: &Event<K>,
    is_different: impl Fn(&ObjectMeta, &ObjectMeta) -> bool,
) -> bool {
    match event {
        Event::Updated { old, new, .. } => {
            let old = old.get().meta();
            let new = new.get().meta();
            event.is_resync() || old.uid != new.uid || is_different(old, new)
        }
        Event::Added { .. } | Event::Deleted { .. } | Event::Released { .. } => true,
    }
}

fn are_finalizers_different(old: &ObjectMeta, new: &ObjectMeta) -> bool {
    old.finalizers.as_deref().unwrap_or_default() != new.finalizers.as_deref().unwrap_or_default()
}
