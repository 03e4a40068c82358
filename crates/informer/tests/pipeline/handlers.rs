//! Callbacks: in order, one at a time, and none at the cost of another.

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

/// Writes down the names it hears.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<Vec<String>>>);

impl Notebook {
    fn write(&self, event: &Event<ConfigMap>) {
        self.0.lock().unwrap().push(event.object().get().metadata.name.clone().unwrap());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn has(&self, count: usize) -> Vec<String> {
        let wait = async {
            while self.read().len() < count {
                // Time is paused: it goes on when all else waits.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            self.read()
        };
        timeout(Duration::from_secs(600), wait).await.unwrap_or_else(|_| panic!("only {:?}", self.read()))
    }
}

impl EventHandler<ConfigMap> for Notebook {
    async fn handle(&mut self, event: &Event<ConfigMap>) {
        tokio::task::yield_now().await;
        self.write(event);
    }
}

// R133, R143
#[tokio::test(start_paused = true)]
async fn closures_futures_and_types_hear_the_same_and_one_may_come_twice() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let notebooks: [Notebook; 4] = Default::default();
    let [closure, future, twice, named] = notebooks.clone();
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
    for (notebook, expected) in notebooks.iter().zip([2, 2, 4, 2]) {
        let mut heard = notebook.has(expected).await;
        heard.dedup();
        heard.sort();
        heard.dedup();
        assert_eq!(heard, ["a", "b"]);
    }
    assert!(first.name().ends_with("Notebook"), "{}", first.name());
    assert_eq!(last.name(), "last");
    maps.stop();
    maps.stopped().await;
}

// R134, R135
#[tokio::test(start_paused = true)]
async fn removing_acts_at_once_and_removed_waits_for_the_handler() {
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
    assert!(timeout(Duration::from_secs(60), &mut removed).await.is_err(), "it waits for the handler");
    leave.add_permits(10);
    removed.await;
    assert_eq!(left.load(Ordering::SeqCst), 1);
    cluster.create("b").await;
    registration.remove();
    registration.removed().await;
    assert_eq!(
        (left.load(Ordering::SeqCst), maps.tasks()),
        (1, 2),
        "nothing more is told, and its task is gone"
    );
}

// R132, R135, R136
#[tokio::test(start_paused = true)]
async fn after_the_end_removing_is_fine_and_adding_is_an_error() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let notebook = Notebook::default();
    let registration = maps.add_handler(notebook.clone()).unwrap();
    maps.stop();
    maps.stopped().await;
    registration.remove();
    registration.remove();
    registration.removed().await;
    let error = maps.add_handler(notebook).unwrap_err();
    assert_eq!(error, AddHandlerError::Stopped);
    assert_eq!(error.to_string(), "cannot add a handler: the informer was stopped");
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_remove_itself() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let (own, heard) = (Arc::new(Mutex::new(None)), Arc::new(AtomicU64::new(0)));
    let handler = {
        let (own, heard) = (Arc::clone(&own), Arc::clone(&heard));
        Async(move |_| {
            heard.fetch_add(1, Ordering::SeqCst);
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
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}

// R131, R141
#[tokio::test(start_paused = true)]
async fn one_that_panics_is_told_everything_and_hurts_nobody() {
    let cluster = Cluster::new();
    for name in ["a", "b", "c", "d"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let (panicking, calm) = (Notebook::default(), Notebook::default());
    let (heard, began) = (panicking.clone(), Instant::now());
    let registration = maps
        .add_handler(move |event: &Event<ConfigMap>| {
            heard.write(event);
            panic!("at every event");
        })
        .unwrap();
    maps.add_handler(calm.clone()).unwrap();
    calm.has(4).await;
    assert!(began.elapsed() < Duration::from_secs(1));
    let mut names = panicking.has(4).await;
    names.sort();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert!(began.elapsed() >= Duration::from_secs(3), "a pause after each");
    let synced = kube_informer::informer::Synced::synced(&registration);
    timeout(Duration::from_secs(60), synced).await.unwrap().unwrap();
    assert_eq!(registration.panics(), 4);
    maps.stop();
    maps.stopped().await;
    assert_eq!(maps.tasks(), 0);
}

/// Panics before there is a future.
struct Hasty(Notebook);

impl EventHandler<ConfigMap> for Hasty {
    fn handle(&mut self, event: &Event<ConfigMap>) -> impl Future<Output = ()> + Send {
        self.0.write(event);
        assert!(self.0.read().len() > 1, "at the first");
        async {}
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_one_that_panics_before_it_begins_and_one_whose_filter_does() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let (hasty, filtered) = (Notebook::default(), Notebook::default());
    let hasty_place = maps.add_handler(Hasty(hasty.clone())).unwrap();
    let panics = SubscribeOptions::new().filter(|map: &ConfigMap| {
        assert_ne!(map.metadata.name.as_deref(), Some("a"), "of all names");
        true
    });
    let filtered_place = maps.add_handler_with(filtered.clone(), panics).unwrap();
    assert_eq!(hasty.has(2).await.len(), 2);
    assert_eq!(filtered.has(1).await, ["b"]);
    hasty_place.caught_up().await;
    filtered_place.caught_up().await;
    assert_eq!((hasty_place.panics(), filtered_place.panics()), (1, 1));
    maps.stop();
    maps.stopped().await;
    timeout(Duration::from_secs(60), hasty_place.removed()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pause_after_a_panic_does_not_hold_up_the_stop() {
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
