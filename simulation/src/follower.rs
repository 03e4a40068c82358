//! One who follows an informer.

use crate::{
    act::{Manner, NAMESPACES, Sees, Tier, Way},
    diary::Diary,
    ear::{Change, Ear, Seen},
    history::{History, Rule},
    truth::{State, Versions, namespace},
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

/// A follower, and what it was told.
#[derive(Debug)]
pub(crate) struct Follower {
    name: String,
    pub(crate) manner: Manner,
    ear: Arc<Mutex<Ear>>,
    /// One that reads when it is told to.
    stream: Option<Subscription<ConfigMap>>,
    registration: Registration<ConfigMap>,
    /// Whether it came late, and was told at once what had changed by then.
    is_late: bool,
    /// How many changes it had been told when everything was calm for the last time; nothing before that.
    compared: Option<usize>,
}

/// What there is to join.
#[derive(Clone, Debug)]
pub(crate) struct Door<'d> {
    pub(crate) informer: &'d Informer<ConfigMap>,
    pub(crate) history: &'d History,
    /// What was restored, until it is confirmed.
    pub(crate) restored: Option<&'d [Seen]>,
    /// Where it writes down what it is told.
    pub(crate) diary: Option<Diary>,
}

impl Follower {
    /// Joins. Nothing if the informer cannot be joined any more.
    pub(crate) fn join(door: Door<'_>, manner: Manner, number: usize) -> Option<Self> {
        let Door { informer, history, restored, diary } = door;
        let name = format!("f{number}");
        let options = options(manner, &name);
        let known = restored.filter(|_| manner.replay == Replay::Differences);
        // What is there now is what it is told first.
        let replay = match manner.sees {
            Sees::All if known.is_none() => informer.len(),
            Sees::All | Sees::Namespace(_) | Sees::Tier(_) => 0,
        };
        let ear = Ear::new(name.clone(), history.clone(), informer.store().clone(), replay);
        let known_here = known.unwrap_or_default().iter();
        let ear = ear.knowing(known_here.filter(|seen| sees(manner, &seen.key, seen.is_front)));
        let ear = diary.into_iter().fold(ear, Ear::writing);
        let ear = Arc::new(Mutex::new(ear));
        let (mut stream, hears) = (None, Arc::clone(&ear));
        let registration = match manner.way {
            Way::Read => {
                let subscription = informer.subscribe_with(options);
                let registration = subscription.registration().clone();
                stream = Some(subscription);
                registration
            }
            Way::Handler => {
                let handler = move |event: &Event<ConfigMap>| lock(&hears).hear(event);
                informer.add_handler_with(handler, options).ok()?
            }
            Way::SlowHandler(time) => {
                let handler = move |event: Event<ConfigMap>| {
                    let hears = Arc::clone(&hears);
                    async move {
                        tokio::time::sleep(time).await;
                        lock(&hears).hear(&event);
                    }
                };
                informer.add_handler_with(Async(handler), options).ok()?
            }
            Way::Panics(every) => {
                let mut count = 0;
                let handler = move |event: &Event<ConfigMap>| {
                    lock(&hears).hear(event);
                    count += 1;
                    if count % every == 0 {
                        // Without the word that a panic has for the screen.
                        std::panic::resume_unwind(Box::new("on purpose"));
                    }
                };
                informer.add_handler_with(handler, options).ok()?
            }
        };
        let is_late = known.is_some() && number > 0;
        Some(Self { name, manner, ear, stream, registration, is_late, compared: None })
    }

    /// Takes what is there, up to so many events, if it is one that reads when it is told to. Says how many it took.
    pub(crate) async fn read(&mut self, events: usize) -> usize {
        let Some(stream) = &mut self.stream else { return 0 };
        for count in 0..events {
            match timeout(Duration::ZERO, stream.next()).await {
                Ok(Some(event)) => lock(&self.ear).hear(&event),
                Ok(None) | Err(_) => return count,
            }
        }
        events
    }

    /// Leaves, and is told nothing from then on.
    pub(crate) async fn leave(self) {
        let Self { ear, stream, registration, .. } = self;
        drop(stream);
        registration.remove();
        registration.removed().await;
        lock(&ear).close();
    }

    pub(crate) fn ear(&self) -> MutexGuard<'_, Ear> {
        lock(&self.ear)
    }

    /// Whether an object exists for it.
    pub(crate) fn sees(&self, key: &str, state: &State) -> bool {
        sees(self.manner, key, state.is_front)
    }

    /// Whether it is told each change as it happens.
    pub(crate) fn is_told_everything(&self) -> bool {
        self.manner.sees == Sees::All && !matches!(self.manner.policy, Policy::Coalesce(_)) && !self.is_late
    }

    /// Whether it must have been told the changes since everything was calm, of which there were so many, in their order: where
    /// it has not fallen behind.
    pub(crate) fn is_told_in_order(&self, published: usize, resync: u64) -> bool {
        let has_kept_up = match self.manner.policy {
            Policy::Unbounded | Policy::Block(_) => true,
            Policy::Coalesce(events) => {
                let is_told_again = self.manner.resync.unwrap_or(resync) > 0;
                self.compared.is_some() && published <= events.get() && !is_told_again
            }
        };
        has_kept_up && !self.is_late
    }

    /// How many changes it was told since everything was calm.
    pub(crate) fn changes_since_compared(&self) -> usize {
        self.ear().changes.len() - self.compared.unwrap_or_default()
    }

    /// The first change since everything was calm that came behind a newer one of any object. Everything is calm now.
    pub(crate) fn out_of_order(&mut self) -> Option<String> {
        let ear = lock(&self.ear);
        let from = self.compared.replace(ear.changes.len()).unwrap_or_default();
        // The state in which an object leaves its sight is an old one.
        let is_old = |change: &Change| change.is_gone && matches!(self.manner.sees, Sees::Tier(_));
        let live = ear.changes[from..].iter().filter(|change| change.is_live && !is_old(change));
        let told: Vec<_> = live.collect();
        let [before, after] = told.windows(2).find_map(|pair| match pair {
            [before, after] if before.version > after.version => Some([*before, *after]),
            _ => None,
        })?;
        Some(format!("{} was told {after:?} behind {before:?}", self.name))
    }

    pub(crate) fn knows(&self, expected: &Versions) -> bool {
        self.ear().versions() == *expected
    }

    /// Takes all that was published by now.
    pub(crate) async fn catch_up(&mut self) {
        self.read(usize::MAX).await;
        if self.stream.is_none() {
            self.registration.caught_up().await;
        }
    }

    pub(crate) fn describe(&self) -> String {
        format!(
            "{} {:?}, {} behind, synced: {}",
            self.name,
            self.manner,
            self.registration.depth(),
            self.registration.has_synced()
        )
    }

    /// What waits for it is within its bounds, where what is published at once is at most so much.
    pub(crate) fn check_bounds(&self, at_once: u64, history: &History) {
        let limit = match self.manner.policy {
            Policy::Unbounded => return,
            Policy::Block(events) | Policy::Coalesce(events) => events.get() as u64,
        };
        let depth = self.registration.depth();
        if depth > limit + at_once {
            history
                .breach(Rule::Bounded, format!("{} events wait for {}, {:?}", depth, self.name, self.manner));
        }
    }
}

/// What it asks for.
fn options(manner: Manner, name: &str) -> SubscribeOptions<ConfigMap> {
    let mut options = SubscribeOptions::new().policy(manner.policy).replay(manner.replay).named(name);
    if let Some(seconds) = manner.resync {
        options = options.resync(Duration::from_secs(seconds));
    }
    match manner.sees {
        Sees::All => options,
        Sees::Namespace(number) => options.namespace(NAMESPACES[number]),
        Sees::Tier(tier) => options.filter(move |map: &ConfigMap| {
            map.metadata
                .labels
                .as_ref()
                .is_some_and(|labels| labels.get("tier").is_some_and(|it| it == tier.label()))
        }),
    }
}

fn sees(manner: Manner, key: &str, is_front: bool) -> bool {
    match manner.sees {
        Sees::All => true,
        Sees::Namespace(number) => namespace(key) == NAMESPACES[number],
        Sees::Tier(tier) => is_front == (tier == Tier::Front),
    }
}

fn lock(ear: &Mutex<Ear>) -> MutexGuard<'_, Ear> {
    // A handler that panics does so outside of it.
    ear.lock().unwrap_or_else(PoisonError::into_inner)
}
