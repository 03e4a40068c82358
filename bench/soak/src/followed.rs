//! One informer of a soak, with the handler that folds what it is told.

use crate::{
    fold::Fold,
    fold::Sum,
    moments::Moments,
    options::{Options, Waits},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_informer::{
    Event, Informer, Storage,
    reflector::{Backoff, Config},
    subscription::{Async, Policy, SubscribeOptions},
    wire::ManagedFields,
};
use kube_informer_bench_client::seen::now;
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Semaphore;

/// An informer, and what one who follows it believes.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) informer: Informer<ConfigMap>,
    fold: Arc<Mutex<Fold>>,
}

/// One who does not come back from the first event before it is let go.
#[derive(Debug)]
pub(crate) struct Stuck {
    gate: Arc<Semaphore>,
    fold: Arc<Mutex<Fold>>,
}

/// Who falls behind further than this is told the latest of each object.
const BEHIND: usize = 1024;
const STUCK: &str = "stuck";

impl Followed {
    /// Follows a namespace; each second one keeps its objects compact.
    pub(crate) fn start(
        client: Client,
        (number, waits): (u64, Waits),
        moments: &Arc<Mutex<Moments>>,
    ) -> Result<Self, String> {
        let keep = if number % 2 == 0 { Storage::Decoded } else { Storage::Compressed };
        let builder = Informer::<ConfigMap>::builder(client)
            .namespace(Options::namespace(number))
            .named(format!("soak-{number}"))
            // Faults are what this is about.
            .on_error(|_| {})
            .config(config(waits))
            .managed_fields(ManagedFields::Keep)
            .storage(keep);
        let informer = builder.build().map_err(|error| error.to_string())?;
        let (fold, moments) = (Arc::<Mutex<Fold>>::default(), Arc::clone(moments));
        let folding = Arc::clone(&fold);
        let handler = move |event: &Event<ConfigMap>| {
            if let Some(sent) = lock(&folding).told(event) {
                lock(&moments).told(sent, now());
            }
        };
        let policy = SubscribeOptions::new().policy(Policy::coalesce(BEHIND));
        informer.add_handler_with(handler, policy).map_err(|error| error.to_string())?;
        Ok(Self { informer, fold })
    }

    /// What the cache holds, and what its follower believes.
    pub(crate) fn sums(&self) -> [Value; 2] {
        let mut cache = Sum::default();
        for entry in self.informer.snapshot().iter() {
            let object = entry.object();
            let meta = &object.metadata;
            let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
            cache.add_object(&text(&meta.name), &text(&meta.uid), &text(&meta.resource_version));
        }
        [cache.report(), lock(&self.fold).sum()]
    }

    pub(crate) fn went_back(&self) -> u64 {
        lock(&self.fold).went_back()
    }
}

fn config(waits: Waits) -> Config {
    let mut config = Config::default();
    if waits == Waits::Short {
        let (initial, cap) = (Duration::from_millis(100), Duration::from_secs(1));
        config.backoff = Backoff { initial, cap, reset: Duration::from_secs(10), ..config.backoff };
    }
    config
}

impl Stuck {
    /// Adds it to an informer.
    pub(crate) fn join(informer: &Informer<ConfigMap>) -> Result<Self, String> {
        let stuck = Self { gate: Arc::new(Semaphore::new(0)), fold: Arc::default() };
        let (gate, fold) = (Arc::clone(&stuck.gate), Arc::clone(&stuck.fold));
        let handler = Async(move |event: Event<ConfigMap>| {
            let (gate, fold) = (Arc::clone(&gate), Arc::clone(&fold));
            async move {
                // It is closed in the end, and open to all then.
                _ = gate.acquire().await;
                lock(&fold).told(&event);
            }
        });
        let options = SubscribeOptions::new().named(STUCK).policy(Policy::coalesce(BEHIND));
        informer.add_handler_with(handler, options).map_err(|error| error.to_string())?;
        Ok(stuck)
    }

    /// How many events it has not been told.
    pub(crate) fn depth(informer: &Informer<ConfigMap>) -> u64 {
        let subscribers = informer.status().subscribers;
        subscribers
            .iter()
            .filter(|subscriber| subscriber.name == STUCK)
            .map(|subscriber| subscriber.depth)
            .sum()
    }

    pub(crate) fn let_go(&self) {
        self.gate.close();
    }

    pub(crate) fn sum(&self) -> Value {
        lock(&self.fold).sum()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
