//! An informer that is given a bait, and what becomes of it.

use crate::{
    bait::Bait,
    server::{Server, Verb},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, Config};
use kube_informer::{
    Informer,
    reflector::{self, Backoff, Strategy},
    source::Encoding,
};
use peak_alloc::PeakAlloc;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::timeout;

/// The most that one object may take on the wire here.
pub(crate) const OBJECT: usize = 1 << 20;
/// What an informer may allocate at once whatever it is sent: a few times the largest object, and buffers.
pub(crate) const MEMORY: usize = 16 << 20;
/// How long it may take to be over it, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

/// Memory is counted for the whole process, so that one test runs at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits that are short enough for a test on sockets.
pub(crate) fn config(strategy: Strategy) -> reflector::Config {
    let mut config = reflector::Config::default();
    config.strategy = strategy;
    config.backoff =
        Backoff { initial: Duration::from_millis(2), cap: Duration::from_millis(2), ..Backoff::default() };
    config
}

pub(crate) fn client(url: &str) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// Waits until the cache has what the server has when it behaves, and was never told of what it has not.
async fn has_all(informer: &Informer<ConfigMap>) {
    let mut events = informer.subscribe();
    loop {
        let mut names: Vec<_> = informer.store().keys().iter().map(ToString::to_string).collect();
        names.sort_unstable();
        if names == ["d/a", "d/b", "d/c"] {
            return;
        }
        let event = events.next().await.unwrap();
        assert_ne!(event.key().name(), "ghost");
    }
}

/// How an informer comes to ask this first.
fn strategy(verb: Verb) -> Strategy {
    match verb {
        Verb::List | Verb::Watch => Strategy::List,
        Verb::Stream => Strategy::Stream,
    }
}

/// An informer that is answered with the bait reports this, and then has what the server has, within its memory.
pub(crate) fn survives(verb: Verb, name: &str, bait: Bait, reported: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(verb, bait).await;
        PeakAlloc.reset_peak_usage();
        let before = PeakAlloc.current_usage();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&reports);
        let informer = Informer::<ConfigMap>::builder(client(&server.url))
            .max_object_size(OBJECT)
            .encoding(Encoding::Json)
            .config(config(strategy(verb)))
            .on_error(move |report| heard.lock().unwrap().push(report.cause.to_string()))
            .start()
            .unwrap();
        let caught_up = timeout(PATIENCE, has_all(&informer)).await;
        let reports = reports.lock().unwrap().clone();
        assert!(caught_up.is_ok(), "{verb:?}, {name}: it is stuck: {:?} {reports:?}", informer.status());
        let is_heard = reports.iter().any(|report| report.contains(reported));
        assert!(is_heard || reported.is_empty(), "{verb:?}, {name}: {reports:?}");
        assert!(reports.iter().all(|report| report.len() < 16 << 10), "{verb:?}, {name}: reports are short");
        let peak = PeakAlloc.peak_usage().saturating_sub(before);
        assert!(peak < MEMORY, "{verb:?}, {name}: {peak} bytes were allocated at once");
        informer.stop();
        informer.stopped().await;
    });
}
