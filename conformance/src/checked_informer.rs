//! An informer with a handler that checks every event against the previous ones.

use crate::wait::eventually;
use kube::{
    Resource,
    api::{Api, ListParams},
};
use kube_informer::{
    Informer,
    cache::Store,
    event::{Deletion, Event},
    informer::InformerBuilder,
    reflector::{Config, Counts, Strategy},
    source::ListWatch,
    subscription::{Policy, SubscribeOptions},
    wire::Key,
};
use serde::de::DeserializeOwned;
use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
    time::Duration,
};

/// Key to version.
pub type Versions = BTreeMap<String, String>;

/// An informer of `K` with a handler. Dropping it ends it.
#[derive(Debug)]
pub struct CheckedInformer<K: Resource> {
    /// The cache.
    pub store: Store<K>,
    /// The informer.
    pub informer: Informer<K>,
    received: Arc<Mutex<ReceivedEvents>>,
}

/// The events of the handler.
#[derive(Debug, Default)]
struct ReceivedEvents {
    known: Versions,
    events: Vec<String>,
    unseen_deletions: Vec<String>,
    reports: Vec<String>,
}

/// Returns the default config of the tests, with short waits.
fn with_short_backoff() -> Config {
    let mut config = Config::default();
    config.backoff.initial = Duration::from_millis(50);
    config.backoff.cap = Duration::from_secs(1);
    config
}

/// Returns a config that uses LIST for the initial objects.
#[must_use]
pub fn listing() -> Config {
    let mut config = with_short_backoff();
    config.strategy = Strategy::List;
    config
}

/// Returns configs for a streamed list and for LIST.
#[must_use]
pub fn strategies() -> [Config; 2] {
    [with_short_backoff(), listing()]
}

/// Returns the versions of objects by their keys.
pub fn versions<'a, K: Resource + 'a>(objects: impl IntoIterator<Item = &'a K>) -> Versions {
    let entry = |object: &K| (Key::of(object).unwrap().to_string(), version(object));
    objects.into_iter().map(entry).collect()
}

fn version<K: Resource>(object: &K) -> String {
    object.meta().resource_version.clone().unwrap()
}

impl<K> CheckedInformer<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Starts an informer of a source.
    pub fn start(source: ListWatch<K>, config: Config) -> Self {
        Self::of(Informer::from_source(source).config(config))
    }

    /// Starts the informer.
    pub fn of(informer: InformerBuilder<K>) -> Self {
        let received = Arc::new(Mutex::new(ReceivedEvents::default()));
        let errors = Arc::clone(&received);
        let informer = informer.on_error(move |report| {
            let line = format!("{:?} {}: {}", report.activity, report.cause.kind(), report.cause);
            errors.lock().unwrap().reports.push(line);
        });
        let informer = informer.build().unwrap();
        let events = Arc::clone(&received);
        let handler = move |event: &Event<K>| events.lock().unwrap().record(event);
        informer.add_handler_with(handler, SubscribeOptions::new().policy(Policy::Unbounded)).unwrap();
        informer.start();
        Self { store: informer.store().clone(), informer, received }
    }

    /// Waits until the cache and the sum of the events equal a list of the server.
    pub async fn settled(&self, api: &Api<K>, selected: &ListParams) {
        eventually("a cache equal to the server", async || {
            let listed = api.list(selected).await.map_err(|error| error.to_string())?;
            let server = versions(&listed.items);
            let cached = versions(self.store.list().iter().map(|object| &**object));
            let received = self.received.lock().unwrap().known.clone();
            if cached == server && received == server {
                return Ok(());
            }
            let status = self.informer.status();
            Err(format!(
                "server {server:?}\ncache {cached:?}\nreceived {received:?}\n{status:?}\n{:#?}",
                self.reports()
            ))
        })
        .await;
        self.assert_no_panic();
    }

    /// Waits for a condition of the cache.
    pub async fn until(&self, what: &str, is_so: impl Fn(&Store<K>) -> bool) {
        eventually(what, async || {
            let instead = || {
                let known = self.received.lock().unwrap().known.clone();
                format!("{known:?}\n{:?}\n{:#?}", self.informer.status(), self.reports())
            };
            if is_so(&self.store) { Ok(()) } else { Err(instead()) }
        })
        .await;
    }

    /// Waits until a failure of this kind was reported, as [`Cause::kind`](kube_informer::reflector::Cause::kind) calls it.
    pub async fn failed_with(&self, kind: &str) {
        eventually(kind, async || {
            let reports = self.reports();
            let is_there = reports.iter().any(|line| line.split([' ', ':']).nth(1) == Some(kind));
            if is_there { Ok(()) } else { Err(format!("{reports:#?}")) }
        })
        .await;
    }

    /// Waits until the cache has synced.
    pub async fn synced(&self) {
        self.until("sync", |store| store.version().is_some()).await;
    }

    /// Returns the counts of the reflector.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.informer.status().counts
    }

    /// Returns the number of lists, streamed or not.
    #[must_use]
    pub fn lists(&self) -> u64 {
        let counts = self.counts();
        counts.lists + counts.streams
    }

    /// Returns the permitted number of lists: the initial one, and one after each expired version, each watch that ended within a second
    /// without an event, and each watch whose connection failed while it was opened.
    #[must_use]
    pub fn allowed_lists(&self) -> u64 {
        let is_cause = |report: &&String| {
            let (activity, kind) = report.split_once(' ').unwrap_or_default();
            match kind.split(':').next() {
                Some("expired" | "very_short_watch") => true,
                Some("transport") => activity == "Watch",
                _ => false,
            }
        };
        1 + self.reports().iter().filter(is_cause).count() as u64
    }

    /// Returns the texts of all failures.
    #[must_use]
    pub fn reports(&self) -> Vec<String> {
        self.received.lock().unwrap().reports.clone()
    }

    /// Returns the sum of all events.
    #[must_use]
    pub fn known(&self) -> Versions {
        self.received.lock().unwrap().known.clone()
    }

    /// Returns all events, as `added name`.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        self.received.lock().unwrap().events.clone()
    }

    /// Returns the deletions that were not observed.
    #[must_use]
    pub fn unseen_deletions(&self) -> Vec<String> {
        self.received.lock().unwrap().unseen_deletions.clone()
    }

    /// Stops the informer, and waits for its end.
    pub async fn stop(self) {
        self.assert_no_panic();
        self.informer.stop();
        self.informer.stopped().await;
        assert_eq!(self.informer.tasks(), 0);
    }

    /// Fails if the handler has panicked.
    fn assert_no_panic(&self) {
        assert!(!self.received.is_poisoned(), "an event contradicts the previous ones");
    }
}

impl ReceivedEvents {
    /// Applies an event, which must fit to the previous ones.
    fn record<K: Resource>(&mut self, event: &Event<K>) {
        let key = event.key().to_string();
        let name = event.key().name().to_owned();
        let word = match event {
            Event::Added { object, .. } => {
                assert_eq!(self.known.insert(key, version(object.get())), None, "added twice");
                "added"
            }
            Event::Updated { old, new, .. } => {
                let (old, new) = (version(old.get()), version(new.get()));
                assert!(old.parse::<u64>().unwrap() <= new.parse().unwrap(), "{key} went back in time");
                assert_eq!(
                    self.known.insert(key, new),
                    Some(old),
                    "the old state differs from the previous event"
                );
                "updated"
            }
            Event::Deleted { old, deletion, .. } => {
                assert_eq!(
                    self.known.remove(&key),
                    Some(version(old.get())),
                    "the deleted state differs from the previous event"
                );
                if *deletion == Deletion::Inferred {
                    self.unseen_deletions.push(key);
                }
                "deleted"
            }
            _ => panic!("unknown event"),
        };
        self.events.push(format!("{word} {name}"));
    }
}
