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
    /// The number of changes at the last comparison; `None` before the first.
    compared: Option<usize>,
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
        Some(Self { name, profile, check, stream, registration, joined_late, compared: None })
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

    /// Returns whether the `published` changes since the last comparison must have been delivered in order: the subscriber did
    /// not fall behind.
    pub(crate) fn receives_in_order(&self, published: usize, resync: u64) -> bool {
        let is_up_to_date = match self.profile.policy {
            Policy::Unbounded | Policy::Block(_) => true,
            Policy::Coalesce(events) => {
                let has_resync = self.profile.resync.unwrap_or(resync) > 0;
                self.compared.is_some() && published <= events.get() && !has_resync
            }
        };
        is_up_to_date && !self.joined_late
    }

    /// Returns the number of changes since the last comparison.
    pub(crate) fn changes_since_compared(&self) -> usize {
        self.check().changes.len() - self.compared.unwrap_or_default()
    }

    /// Returns the first change since the last comparison that was delivered after a newer one of any object. This is a comparison.
    pub(crate) fn out_of_order(&mut self) -> Option<String> {
        let check = lock(&self.check);
        let from = self.compared.replace(check.changes.len()).unwrap_or_default();
        // An object that stops to match the filter is deleted with its last matching state.
        let is_old = |change: &Change| change.is_deleted && matches!(self.profile.sees, Visibility::Tier(_));
        let live = check.changes[from..].iter().filter(|change| change.is_live && !is_old(change));
        let delivered: Vec<_> = live.collect();
        let [before, after] = delivered.windows(2).find_map(|pair| match pair {
            [before, after] if before.version > after.version => Some([*before, *after]),
            _ => None,
        })?;
        Some(format!("{} received {after:?} after {before:?}", self.name))
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
