//! An informer with a handler that tracks the objects of its events.

use crate::{
    delivery_times::DeliveryTimes,
    event_state::{EventState, Summary},
    options::{BackoffChoice, Load},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_informer::{
    Event, Informer, Storage,
    reflector::{Backoff, Config},
    subscription::{Async, Policy, SubscribeOptions},
    wire::ManagedFields,
};
use kube_informer_bench_client::recorder::now;
use serde_json::Value;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Semaphore;

/// An informer with the state of its handler.
#[derive(Debug)]
pub(crate) struct ObservedInformer {
    pub(crate) informer: Informer<ConfigMap>,
    state: Arc<Mutex<EventState>>,
}

/// A handler that blocks at its first event until it is released.
#[derive(Debug)]
pub(crate) struct BlockedHandler {
    gate: Arc<Semaphore>,
    state: Arc<Mutex<EventState>>,
}

/// The number of pending events from which they are coalesced.
const COALESCE: usize = 1024;
const BLOCKED: &str = "blocked";

impl ObservedInformer {
    /// Creates the informer of a namespace; every second one has compressed storage.
    pub(crate) fn new(
        client: Client,
        number: u64,
        backoff: BackoffChoice,
        times: &Arc<Mutex<DeliveryTimes>>,
    ) -> Result<Self, String> {
        let storage = if number.is_multiple_of(2) { Storage::Decoded } else { Storage::Compressed };
        let builder = Informer::<ConfigMap>::builder(client)
            .namespace(Load::namespace(number))
            .named(format!("soak-{number}"))
            // Failures are expected.
            .on_error(|_| {})
            .config(config(backoff))
            .managed_fields(ManagedFields::Keep)
            .storage(storage);
        let informer = builder.build().map_err(|error| error.to_string())?;
        let (state, times) = (Arc::<Mutex<EventState>>::default(), Arc::clone(times));
        let handler_state = Arc::clone(&state);
        let handler = move |event: &Event<ConfigMap>| {
            if let Some(sent) = lock(&handler_state).apply(event) {
                lock(&times).delivered(sent, now());
            }
        };
        let options = SubscribeOptions::new().policy(Policy::coalesce(COALESCE));
        informer.add_handler_with(handler, options).map_err(|error| error.to_string())?;
        Ok(Self { informer, state })
    }

    pub(crate) fn cache_summary(&self) -> Value {
        let mut summary = Summary::default();
        self.informer.snapshot().iter().for_each(|entry| summary.add(&entry.object().metadata));
        summary.report()
    }

    pub(crate) fn handler_summary(&self) -> Value {
        lock(&self.state).summary()
    }

    pub(crate) fn stale_events(&self) -> u64 {
        lock(&self.state).stale_events()
    }
}

fn config(backoff: BackoffChoice) -> Config {
    let mut config = Config::default();
    if backoff == BackoffChoice::Short {
        let (initial, cap) = (Duration::from_millis(100), Duration::from_secs(1));
        config.backoff = Backoff { initial, cap, reset: Duration::from_secs(10), ..config.backoff };
    }
    config
}

impl BlockedHandler {
    /// Adds the handler to an informer.
    pub(crate) fn add_to(informer: &Informer<ConfigMap>) -> Result<Self, String> {
        let blocked = Self { gate: Arc::new(Semaphore::new(0)), state: Arc::default() };
        let (gate, state) = (Arc::clone(&blocked.gate), Arc::clone(&blocked.state));
        let handler = Async(move |event: Event<ConfigMap>| {
            let (gate, state) = (Arc::clone(&gate), Arc::clone(&state));
            async move {
                // Fails immediately after the semaphore is closed.
                _ = gate.acquire().await;
                lock(&state).apply(&event);
            }
        });
        let options = SubscribeOptions::new().named(BLOCKED).policy(Policy::coalesce(COALESCE));
        informer.add_handler_with(handler, options).map_err(|error| error.to_string())?;
        Ok(blocked)
    }

    /// Returns the number of its pending events.
    pub(crate) fn depth(informer: &Informer<ConfigMap>) -> u64 {
        let subscribers = informer.status().subscribers;
        let blocked = subscribers.iter().filter(|subscriber| subscriber.name == BLOCKED);
        blocked.map(|subscriber| subscriber.depth).sum()
    }

    pub(crate) fn release(&self) {
        self.gate.close();
    }

    pub(crate) fn summary(&self) -> Value {
        lock(&self.state).summary()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
