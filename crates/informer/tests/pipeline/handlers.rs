//! Handlers are called in order, one event at a time, and independently of each other.

use crate::cluster::Cluster;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Event, Informer,
    subscription::{AddHandlerError, Async, EventHandler, SubscribeOptions},
};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout},
};

async fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    maps.synced().await.unwrap();
    maps
}

/// A handler that records the names of its events.
#[derive(Clone, Default)]
struct RecordingHandler(Arc<Mutex<Vec<String>>>);

impl RecordingHandler {
    fn write(&self, event: &Event<ConfigMap>) {
        self.0.lock().unwrap().push(event.object().get().metadata.name.clone().unwrap());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn has(&self, count: usize) -> Vec<String> {
        let wait = async {
            while self.read().len() < count {
                // Time is paused: it advances when all tasks are idle.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            self.read()
        };
        timeout(Duration::from_secs(600), wait).await.unwrap_or_else(|_| panic!("only {:?}", self.read()))
    }
}

impl EventHandler<ConfigMap> for RecordingHandler {
    async fn handle(&mut self, event: &Event<ConfigMap>) {
        tokio::task::yield_now().await;
        self.write(event);
    }
}

// R133, R143
#[tokio::test(start_paused = true)]
async fn closures_futures_and_types_can_be_handlers_and_be_added_twice() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let handlers: [RecordingHandler; 4] = Default::default();
    let [closure, future, twice, named] = handlers.clone();
    maps.add_handler(move |event: &Event<ConfigMap>| closure.write(event)).unwrap();
    maps.add_handler(Async(move |event: Event<ConfigMap>| {
        let future = future.clone();
        async move { future.write(&event) }
    }))
    .unwrap();
    let first = maps.add_handler(twice.clone()).unwrap();
    maps.add_handler(twice).unwrap();
    let last = maps.add_handler_with(named, SubscribeOptions::new().named("last")).unwrap();
    cluster.create("b").await;
    for (handler, expected) in handlers.iter().zip([2, 2, 4, 2]) {
        let mut received = handler.has(expected).await;
        received.dedup();
        received.sort();
        received.dedup();
        assert_eq!(received, ["a", "b"]);
    }
    assert!(first.name().ends_with("RecordingHandler"), "{}", first.name());
    assert_eq!(last.name(), "last");
    maps.stop();
    maps.stopped().await;
}

// R134, R135
#[tokio::test(start_paused = true)]
async fn remove_acts_immediately_and_removed_waits_for_the_handler() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let (entered, leave, left) =
        (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)), Arc::new(AtomicU64::new(0)));
    let handler = {
        let (entered, leave, left) = (Arc::clone(&entered), Arc::clone(&leave), Arc::clone(&left));
        Async(move |_: Event<ConfigMap>| {
            let (entered, leave, left) = (Arc::clone(&entered), Arc::clone(&leave), Arc::clone(&left));
            async move {
                entered.notify_one();
                leave.acquire().await.unwrap().forget();
                left.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let registration = maps.add_handler(handler).unwrap();
    entered.notified().await;
    registration.remove();
    assert!(registration.is_closed());
    assert_eq!(left.load(Ordering::SeqCst), 0, "the handler is still running");
    let mut removed = Box::pin(registration.removed());
    assert!(timeout(Duration::from_secs(60), &mut removed).await.is_err(), "waits for the handler");
    leave.add_permits(10);
    removed.await;
    assert_eq!(left.load(Ordering::SeqCst), 1);
    cluster.create("b").await;
    registration.remove();
    registration.removed().await;
    assert_eq!((left.load(Ordering::SeqCst), maps.tasks()), (1, 2), "no more events, and its task has ended");
}

// R132, R135, R136
#[tokio::test(start_paused = true)]
async fn after_a_stop_handlers_can_be_removed_but_not_added() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let handler = RecordingHandler::default();
    let registration = maps.add_handler(handler.clone()).unwrap();
    maps.stop();
    maps.stopped().await;
    registration.remove();
    registration.remove();
    registration.removed().await;
    let error = maps.add_handler(handler).unwrap_err();
    assert_eq!(error, AddHandlerError::Stopped);
    assert_eq!(error.to_string(), "cannot add a handler: the informer was stopped");
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_remove_itself() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let (own, received) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU64::new(0)));
    let handler = {
        let (own, received) = (Arc::clone(&own), Arc::clone(&received));
        Async(move |_| {
            received.fetch_add(1, Ordering::SeqCst);
            let own: Option<kube_informer::subscription::Registration<ConfigMap>> =
                own.lock().unwrap().clone();
            async move {
                let own = own.unwrap();
                own.remove();
                own.removed().await;
            }
        })
    };
    let registration = maps.add_handler(handler).unwrap();
    *own.lock().unwrap() = Some(registration.clone());
    cluster.create("b").await;
    while maps.tasks() > 2 {
        tokio::task::yield_now().await;
    }
    assert!(registration.is_closed());
    assert_eq!(received.load(Ordering::SeqCst), 1);
}

// R131, R141
#[tokio::test(start_paused = true)]
async fn a_panicking_handler_receives_all_events_and_does_not_affect_others() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let (panicking, other) = (RecordingHandler::default(), RecordingHandler::default());
    let (received, began) = (panicking.clone(), Instant::now());
    let registration = maps
        .add_handler(move |event: &Event<ConfigMap>| {
            received.write(event);
            panic!("for every event");
        })
        .unwrap();
    maps.add_handler(other.clone()).unwrap();
    other.has(4).await;
    assert!(began.elapsed() < Duration::from_secs(1));
    let mut names = panicking.has(4).await;
    names.sort();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert!(began.elapsed() >= Duration::from_secs(3), "a pause after each panic");
    let synced = kube_informer::informer::Synced::synced(&registration);
    timeout(Duration::from_secs(60), synced).await.unwrap().unwrap();
    assert_eq!(registration.panics(), 4);
    maps.stop();
    maps.stopped().await;
    assert_eq!(maps.tasks(), 0);
}

/// A handler that panics before it returns a future.
struct PanicsEarly(RecordingHandler);

impl EventHandler<ConfigMap> for PanicsEarly {
    fn handle(&mut self, event: &Event<ConfigMap>) -> impl Future<Output = ()> + Send {
        self.0.write(event);
        assert!(self.0.read().len() > 1, "for the first event");
        async {}
    }
}

#[tokio::test(start_paused = true)]
async fn panics_before_the_future_and_in_filters_are_caught() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let (early, filtered) = (RecordingHandler::default(), RecordingHandler::default());
    let early_registration = maps.add_handler(PanicsEarly(early.clone())).unwrap();
    let panics = SubscribeOptions::new().filter(|map: &ConfigMap| {
        assert_ne!(map.metadata.name.as_deref(), Some("a"), "in the filter");
        true
    });
    let filtered_registration = maps.add_handler_with(filtered.clone(), panics).unwrap();
    assert_eq!(early.has(2).await.len(), 2);
    assert_eq!(filtered.has(1).await, ["b"]);
    early_registration.caught_up().await;
    filtered_registration.caught_up().await;
    assert_eq!((early_registration.panics(), filtered_registration.panics()), (1, 1));
    maps.stop();
    maps.stopped().await;
    timeout(Duration::from_secs(60), early_registration.removed()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_pause_after_a_panic_does_not_delay_a_stop() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let registration = maps.add_handler(|_: &Event<ConfigMap>| panic!("once")).unwrap();
    while registration.panics() == 0 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    maps.stop();
    maps.stopped().await;
    assert_eq!(began.elapsed(), Duration::ZERO);
}
