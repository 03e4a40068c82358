//! Runs an informer against a malicious response, and checks that it recovers.

use crate::{
    hostile_response::HostileResponse,
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

/// The maximum size of an object on the wire in these tests.
pub(crate) const MAX_OBJECT_SIZE: usize = 1 << 20;
/// The maximum memory that an informer may allocate: a few times the largest object, plus buffers.
const MAX_MEMORY: usize = 16 << 20;
/// The maximum time to recover, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Serializes the tests: memory is measured for the whole process.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A configuration with short delays, for tests with real time.
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

/// Waits until the cache has the objects of the server. Fails if it ever receives an object that the server does not have.
async fn wait_until_recovered(informer: &Informer<ConfigMap>) {
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

/// The strategy with which an informer sends this request first.
fn strategy(verb: Verb) -> Strategy {
    match verb {
        Verb::List | Verb::Watch => Strategy::List,
        Verb::Stream => Strategy::Stream,
    }
}

/// Checks that an informer that receives the response reports `reported`, then recovers, and stays within its memory limit.
pub(crate) fn check_recovers(verb: Verb, name: &str, response: HostileResponse, reported: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(verb, response).await;
        PeakAlloc.reset_peak_usage();
        let before = PeakAlloc.current_usage();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&reports);
        let informer = Informer::<ConfigMap>::builder(client(&server.url))
            .max_object_size(MAX_OBJECT_SIZE)
            .encoding(Encoding::Json)
            .config(config(strategy(verb)))
            .on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()))
            .start()
            .unwrap();
        let recovered = timeout(TIMEOUT, wait_until_recovered(&informer)).await;
        let reports = reports.lock().unwrap().clone();
        assert!(recovered.is_ok(), "{verb:?}, {name}: not recovered: {:?} {reports:?}", informer.status());
        let is_reported = reports.iter().any(|report| report.contains(reported));
        assert!(is_reported || reported.is_empty(), "{verb:?}, {name}: {reports:?}");
        assert!(
            reports.iter().all(|report| report.len() < 16 << 10),
            "{verb:?}, {name}: a report is too long"
        );
        let peak = PeakAlloc.peak_usage().saturating_sub(before);
        assert!(peak < MAX_MEMORY, "{verb:?}, {name}: {peak} bytes were allocated at once");
        informer.stop();
        informer.stopped().await;
    });
}
