//! The options of a subscriber.

use super::policy::Policy;
use crate::event::Event;
use kube_core::Resource;
use kube_informer_wire::LabelSelector;
use std::{borrow::Cow, fmt, time::Duration};

/// The options of a subscriber: name, filters, [`Policy`], resync period and [`Replay`].
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{
///     Informer,
///     subscription::{Policy, SubscribeOptions, Subscription},
/// };
/// use std::time::Duration;
///
/// fn web_pods(pods: &Informer<Pod>) -> Subscription<Pod> {
///     let options = SubscribeOptions::new()
///         .named("web")
///         .namespace("web")
///         .resync(Duration::from_secs(600))
///         .policy(Policy::Unbounded);
///     pods.subscribe_with(options)
/// }
/// ```
#[must_use]
pub struct SubscribeOptions<K> {
    pub(super) name: Option<String>,
    pub(super) policy: Policy,
    pub(super) filter: Filter<K>,
    pub(super) replay: Replay,
    resync: Option<Duration>,
}

/// The initial events that a subscriber receives for objects that were restored from disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// Every object in the cache, as [`Event::Added`] with [`Phase::Initial`](crate::event::Phase::Initial).
    #[default]
    All,
    /// Only the differences between the restored objects and the current state, including deletions. For a subscriber that
    /// has persisted its own state as well.
    ///
    /// It must subscribe before the informer has [synced](crate::Informer::has_synced), preferably before it is started;
    /// later it receives every object. It also receives every object if nothing was restored
    /// ([`InformerStatus::restored`](crate::informer::InformerStatus::restored)).
    ///
    /// A change that such a subscriber has not handled is not saved, so that the next process delivers it again. If it is
    /// removed with unhandled events, nothing more is saved from then on.
    Differences,
}

/// Selects the objects that a subscriber receives.
pub(super) struct Filter<K>(Option<Box<Predicate<K>>>);

type Predicate<K> = dyn Fn(&K) -> bool + Send + Sync;

/// The shortest resync period.
const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(1);

impl<K> SubscribeOptions<K> {
    /// Creates options for a subscriber of all objects, with the default policy and the informer's resync period.
    pub fn new() -> Self {
        Self {
            name: None,
            policy: Policy::default(),
            filter: Filter(None),
            replay: Replay::All,
            resync: None,
        }
    }

    /// Sets the name used in logs, metrics and status.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what happens when the subscriber falls behind.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets which initial events are delivered for restored objects.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Sets how often every object is delivered again ([`Event::is_resync`]). Zero disables it; less than a second is treated as
    /// one second. Defaults to the informer's period.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Delivers only objects for which `predicate` returns true. An object that starts to match is delivered as added, one
    /// that stops matching as deleted.
    ///
    /// Several filters must all match. The result must depend only on the object.
    pub fn filter(mut self, predicate: impl Fn(&K) -> bool + Send + Sync + 'static) -> Self
    where
        K: 'static,
    {
        self.filter.0 = Some(match self.filter.0.take() {
            None => Box::new(predicate),
            Some(first) => Box::new(move |object| first(object) && predicate(object)),
        });
        self
    }

    /// Returns the resync period; `None` if resyncs are disabled.
    pub(super) fn resync_period(&self, default: Duration) -> Option<Duration> {
        let period = self.resync.unwrap_or(default);
        (!period.is_zero()).then(|| period.max(MIN_RESYNC_PERIOD))
    }
}

impl<K: Resource + 'static> SubscribeOptions<K> {
    /// Delivers only objects of this namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.filter(move |object| object.meta().namespace.as_deref() == Some(&namespace))
    }

    /// Delivers only objects that match this label selector.
    pub fn labels(self, labels: LabelSelector) -> Self {
        self.filter(move |object| labels.matches(object.meta().labels.as_ref()))
    }
}

impl<K> Filter<K> {
    /// Returns whether every object matches.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the event as the subscriber receives it; `None` if it does not.
    pub(super) fn apply<'e>(&self, event: &'e Event<K>) -> Option<Cow<'e, Event<K>>> {
        match &self.0 {
            None => Some(Cow::Borrowed(event)),
            Some(predicate) => event.clone().filtered(|object| predicate(object)).map(Cow::Owned),
        }
    }
}

impl<K> Default for SubscribeOptions<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for SubscribeOptions<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscribeOptions")
            .field("name", &self.name)
            .field("policy", &self.policy)
            .field("resync", &self.resync)
            .field("replay", &self.replay)
            .finish_non_exhaustive()
    }
}
