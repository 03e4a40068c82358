//! A subscriber of the informer.

use crate::{
    action::{Consumption, NAMESPACES, SubscriberProfile, Tier, Visibility},
    history::{History, Rule},
    persisted_state::PersistedState,
    planted_bug::PlantedBug,
    subscriber_check::{Change, ObservedObject, SubscriberCheck},
    write_log::{State, Versions, namespace},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Event, Informer,
    subscription::{Async, Policy, Registration, Replay, SubscribeOptions, Subscription},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// A subscriber and the checks of its events.
#[derive(Debug)]
pub(crate) struct Subscriber {
    name: String,
    pub(crate) profile: SubscriberProfile,
    check: Arc<Mutex<SubscriberCheck>>,
    /// The stream of a subscriber that reads only on request.
    stream: Option<Subscription<ConfigMap>>,
    registration: Registration<ConfigMap>,
    /// True if it joined after the start and received the differences to the restored state.
    joined_late: bool,
    /// The last check of the order of its events; `None` before the first.
    ordered: Option<Ordered>,
}

/// A check of the order of events.
#[derive(Clone, Copy, Debug)]
struct Ordered {
    moment: Moment,
    /// The number of changes that the subscriber had received.
    changes: usize,
    /// The number of those that it had received when the period began.
    before: usize,
}

/// A moment at which a subscriber has received all events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// The number of the period without a list.
    pub(crate) period: u64,
    /// The number of changes so far.
    pub(crate) published: usize,
}

/// Whether a subscriber of an informer has had resyncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resyncs {
    Never,
    Some,
}

/// The informer to subscribe to, and the expectations.
#[derive(Clone, Debug)]
pub(crate) struct JoinContext<'d> {
    pub(crate) informer: &'d Informer<ConfigMap>,
    pub(crate) history: &'d History,
    /// The restored objects, until they are confirmed.
    pub(crate) restored: Option<&'d [ObservedObject]>,
    /// The state that the subscriber persists.
    pub(crate) persisted: Option<PersistedState>,
    pub(crate) planted: Option<PlantedBug>,
}

impl Subscriber {
    /// Adds a subscriber; returns `None` if the informer is stopped.
    pub(crate) fn join(context: JoinContext<'_>, profile: SubscriberProfile, number: usize) -> Option<Self> {
        let JoinContext { informer, history, restored, persisted, planted } = context;
        let name = format!("s{number}");
        let options = options(profile, &name);
        let known = restored.filter(|_| profile.replay == Replay::Differences);
        // The objects that exist now are delivered first.
        let replay = match profile.sees {
            Visibility::All if known.is_none() => informer.len(),
            Visibility::All | Visibility::Namespace(_) | Visibility::Tier(_) => 0,
        };
        let check = SubscriberCheck::new(name.clone(), history.clone(), informer.store().clone(), replay);
        let known_here = known.unwrap_or_default().iter();
        let check =
            check.with_known(known_here.filter(|observed| sees(profile, &observed.key, observed.is_front)));
        let check = persisted.into_iter().fold(check.with_planted(planted), SubscriberCheck::with_persisted);
        let check = Arc::new(Mutex::new(check));
        let (mut stream, receiver) = (None, Arc::clone(&check));
        let registration = match profile.consumption {
            Consumption::Read => {
                let subscription = informer.subscribe_with(options);
                let registration = subscription.registration().clone();
                stream = Some(subscription);
                registration
            }
            Consumption::Handler => {
                let handler = move |event: &Event<ConfigMap>| lock(&receiver).receive(event);
                informer.add_handler_with(handler, options).ok()?
            }
            Consumption::SlowHandler(time) => {
                let handler = move |event: Event<ConfigMap>| {
                    let receiver = Arc::clone(&receiver);
                    async move {
                        tokio::time::sleep(time).await;
                        lock(&receiver).receive(&event);
                    }
                };
                informer.add_handler_with(Async(handler), options).ok()?
            }
            Consumption::PanickingHandler(every) => {
                let mut count = 0;
                let handler = move |event: &Event<ConfigMap>| {
                    lock(&receiver).receive(event);
                    count += 1;
                    if count % every == 0 {
                        // Without a message on standard error.
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                };
                informer.add_handler_with(handler, options).ok()?
            }
        };
        let joined_late = known.is_some() && number > 0;
        Some(Self { name, profile, check, stream, registration, joined_late, ordered: None })
    }

    /// Reads at most this number of pending events, if it reads only on request. Returns the number of events.
    pub(crate) async fn read(&mut self, events: usize) -> usize {
        let Some(stream) = &mut self.stream else { return 0 };
        for count in 0..events {
            match timeout(Duration::ZERO, stream.next()).await {
                Ok(Some(event)) => lock(&self.check).receive(&event),
                Ok(None) | Err(_) => return count,
            }
        }
        events
    }

    /// Removes the subscriber.
    pub(crate) async fn leave(self) {
        let Self { check, stream, registration, .. } = self;
        drop(stream);
        registration.remove();
        registration.removed().await;
        lock(&check).close();
    }

    pub(crate) fn check(&self) -> MutexGuard<'_, SubscriberCheck> {
        lock(&self.check)
    }

    /// Returns whether the subscriber receives an object.
    pub(crate) fn sees(&self, key: &str, state: &State) -> bool {
        sees(self.profile, key, state.is_front)
    }

    /// Returns whether the subscriber receives every change.
    pub(crate) fn receives_every_event(&self) -> bool {
        self.profile.sees == Visibility::All
            && !matches!(self.profile.policy, Policy::Coalesce(_))
            && !self.joined_late
    }

    /// Returns whether it has received all published events.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.registration.depth() == 0
    }

    /// Checks that the changes since the last check were delivered in the order of their versions, across objects. `None` if they need
    /// not be: there was a list, or the subscriber fell behind and received the latest states only.
    pub(crate) fn check_order(&mut self, moment: Moment, resyncs: Resyncs) -> Option<Result<(), String>> {
        let check = lock(&self.check);
        let changes = check.changes.len();
        let last = self.ordered.filter(|last| last.moment.period == moment.period && !self.joined_late);
        let before = last.map_or(changes, |last| last.before);
        self.ordered = Some(Ordered { moment, changes, before });
        let last = last.filter(|last| match self.profile.policy {
            Policy::Unbounded | Policy::Block(_) => true,
            // The resyncs of all subscribers count as events.
            Policy::Coalesce(events) => {
                moment.published - last.moment.published <= events.get() && resyncs == Resyncs::Never
            }
        })?;
        // An object that stops to match the filter is deleted with its last matching state.
        let is_old = |change: &Change| change.is_deleted && matches!(self.profile.sees, Visibility::Tier(_));
        // The first new change is compared with the one before.
        let from = before.max(last.changes.saturating_sub(1));
        let live = check.changes[from..].iter().filter(|change| change.is_live && !is_old(change));
        let delivered: Vec<_> = live.collect();
        let out_of_order = delivered.windows(2).find_map(|pair| match pair {
            [before, after] if before.version > after.version => Some([*before, *after]),
            _ => None,
        });
        Some(match out_of_order {
            None => Ok(()),
            Some([before, after]) => Err(format!("{} received {after:?} after {before:?}", self.name)),
        })
    }

    pub(crate) fn has_received(&self, expected: &Versions) -> bool {
        self.check().versions() == *expected
    }

    /// Waits until all published events are received.
    pub(crate) async fn catch_up(&mut self) {
        self.read(usize::MAX).await;
        if self.stream.is_none() {
            self.registration.caught_up().await;
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "{} {:?}, {} pending events, synced: {}",
            self.name,
            self.profile,
            self.registration.depth(),
            self.registration.has_synced()
        )
    }

    /// Checks the number of pending events, of which `batch` may be published at once.
    pub(crate) fn check_bounds(&self, batch: u64, history: &History) {
        let limit = match self.profile.policy {
            Policy::Unbounded => return,
            Policy::Block(events) | Policy::Coalesce(events) => events.get() as u64,
        };
        let depth = self.registration.depth();
        if depth > limit + batch {
            history.violate(
                Rule::BacklogBounded,
                format!("{} events are pending for {}, {:?}", depth, self.name, self.profile),
            );
        }
    }
}

/// Returns the options of a subscriber.
fn options(profile: SubscriberProfile, name: &str) -> SubscribeOptions<ConfigMap> {
    let mut options = SubscribeOptions::new().policy(profile.policy).replay(profile.replay).named(name);
    if let Some(seconds) = profile.resync {
        options = options.resync(Duration::from_secs(seconds));
    }
    match profile.sees {
        Visibility::All => options,
        Visibility::Namespace(number) => options.namespace(NAMESPACES[number]),
        Visibility::Tier(tier) => options.filter(move |map: &ConfigMap| {
            map.metadata
                .labels
                .as_ref()
                .is_some_and(|labels| labels.get("tier").is_some_and(|it| it == tier.label()))
        }),
    }
}

fn sees(profile: SubscriberProfile, key: &str, is_front: bool) -> bool {
    match profile.sees {
        Visibility::All => true,
        Visibility::Namespace(number) => namespace(key) == NAMESPACES[number],
        Visibility::Tier(tier) => is_front == (tier == Tier::Front),
    }
}

fn lock(check: &Mutex<SubscriberCheck>) -> MutexGuard<'_, SubscriberCheck> {
    // Handlers panic without holding the lock.
    check.lock().unwrap_or_else(PoisonError::into_inner)
}
