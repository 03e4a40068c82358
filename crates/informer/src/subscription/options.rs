//! What a follower asks for.

use super::policy::Policy;
use crate::controller::Event;
use kube_core::Resource;
use kube_informer_wire::LabelSelector;
use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

/// What a follower asks for: `Subscribe::new().namespace("web").policy(Policy::Unbounded)`.
#[must_use]
pub struct Subscribe<K> {
    pub(super) name: Option<String>,
    pub(super) policy: Policy,
    pub(super) resync: Option<Duration>,
    pub(super) filter: Filter<K>,
}

/// Which objects exist for a follower.
pub(super) struct Filter<K>(Option<Arc<Passes<K>>>);

type Passes<K> = dyn Fn(&K) -> bool + Send + Sync;

/// The shortest time between two resyncs.
const SHORTEST: Duration = Duration::from_secs(1);

impl<K> Subscribe<K> {
    /// Every event of every object, in the usual way.
    pub fn new() -> Self {
        Self { name: None, policy: Policy::default(), resync: None, filter: Filter(None) }
    }

    /// Names the follower, for logs, metrics and status.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What happens when it falls behind.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Tells it everything known again, this often: [`Event::is_sync`]. Zero means never, and less than a second counts as
    /// one. The default is what the informer was told.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(if period.is_zero() { period } else { period.max(SHORTEST) });
        self
    }

    /// Only objects that pass exist for it: one that begins to pass is added, one that ceases to is deleted.
    ///
    /// Several filters must all pass. What one says must depend on the object alone.
    pub fn filter(mut self, passes: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: 'static,
    {
        self.filter.0 = Some(match self.filter.0.take() {
            None => Arc::new(passes),
            Some(first) => Arc::new(move |object| first(object) && passes(object)),
        });
        self
    }

    /// The period that it asks for, or else this one.
    pub(super) fn period(&self, default: Duration) -> Option<Duration> {
        Some(self.resync.unwrap_or(default)).filter(|period| !period.is_zero())
    }
}

impl<K: Resource + 'static> Subscribe<K> {
    /// Only objects of this namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.filter(move |object| object.meta().namespace.as_deref() == Some(&namespace))
    }

    /// Only objects with these labels, as they come and go.
    pub fn labels(self, labels: LabelSelector) -> Self {
        self.filter(move |object| labels.matches(object.meta().labels.as_ref()))
    }
}

impl<K> Filter<K> {
    /// The event as the follower sees it.
    pub(super) fn view<'e>(&self, event: &'e Event<K>) -> Option<Cow<'e, Event<K>>> {
        match &self.0 {
            None => Some(Cow::Borrowed(event)),
            Some(passes) => event.clone().filtered(|object| passes(object)).map(Cow::Owned),
        }
    }
}

impl<K> Clone for Filter<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Subscribe<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Subscribe<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribe")
            .field("name", &self.name)
            .field("policy", &self.policy)
            .field("resync", &self.resync)
            .finish_non_exhaustive()
    }
}
