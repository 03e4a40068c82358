//! What a follower asks for.

use super::policy::Policy;
use crate::event::Event;
use kube_core::Resource;
use kube_informer_wire::LabelSelector;
use std::{borrow::Cow, fmt, time::Duration};

/// What a follower asks for: `Subscribe::new().namespace("web").policy(Policy::Unbounded)`.
#[must_use]
pub struct Subscribe<K> {
    pub(super) name: Option<String>,
    pub(super) policy: Policy,
    pub(super) resync: Option<Duration>,
    pub(super) filter: Filter<K>,
    pub(super) replay: Replay,
}

/// What a follower is told of what an earlier process had saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replay {
    /// Everything, as [`Event::Added`] with `initial`, as of whatever is there when a follower comes.
    #[default]
    All,
    /// Only what has changed since, deletions included: for one that has kept what it knew as well.
    ///
    /// It must come before the informer has [synced](crate::Informer::has_synced), and best before it is started; one that comes later
    /// is told everything. Nothing is restored the first time, or if what was saved is of no use
    /// ([`Status::restored`](crate::informer::Status::restored)): then everything is new.
    ///
    /// What such a follower has not handled is not saved, so that the next process tells it again. One that leaves with something
    /// unhandled is expected back: from then on nothing more is saved.
    Differences,
}

/// Which objects exist for a follower.
pub(super) struct Filter<K>(Option<Box<Passes<K>>>);

type Passes<K> = dyn Fn(&K) -> bool + Send + Sync;

/// The shortest time between two resyncs.
const SHORTEST: Duration = Duration::from_secs(1);

impl<K> Subscribe<K> {
    /// Every event of every object, in the usual way.
    pub fn new() -> Self {
        Self {
            name: None,
            policy: Policy::default(),
            resync: None,
            filter: Filter(None),
            replay: Replay::All,
        }
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

    /// What it is told of what an earlier process had saved.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = replay;
        self
    }

    /// Tells it everything known again, this often: [`Event::is_sync`]. Zero means never, and less than a second counts as
    /// one. The default is what the informer was told.
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
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
            None => Box::new(passes),
            Some(first) => Box::new(move |object| first(object) && passes(object)),
        });
        self
    }

    /// The period that it asks for, or else this one.
    pub(super) fn period(&self, default: Duration) -> Option<Duration> {
        let period = Some(self.resync.unwrap_or(default)).filter(|period| !period.is_zero());
        period.map(|period| period.max(SHORTEST))
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
    /// Whether everything passes.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The event as the follower sees it.
    pub(super) fn view<'e>(&self, event: &'e Event<K>) -> Option<Cow<'e, Event<K>>> {
        match &self.0 {
            None => Some(Cow::Borrowed(event)),
            Some(passes) => event.clone().filtered(|object| passes(object)).map(Cow::Owned),
        }
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
