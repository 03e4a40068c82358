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
    source::{Encoding, ListCompression},
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

/// The part of a program that decompresses responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecompressedBy {
    /// By the source of the informer.
    Source,
    /// By kube's client, with its feature `gzip`.
    Client,
}

pub(crate) fn client(url: &str, decompressed_by: DecompressedBy) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.disable_compression = decompressed_by == DecompressedBy::Source;
    Client::try_from(config).unwrap()
}

/// Waits until the cache has the objects of the server. Fails if it ever receives an object that the server does not have.
pub(crate) async fn wait_until_recovered(informer: &Informer<ConfigMap>) {
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
pub(crate) fn strategy(verb: Verb) -> Strategy {
    match verb {
        Verb::List | Verb::Watch => Strategy::List,
        Verb::Stream => Strategy::Stream,
    }
}

/// A malicious response to the first request of a verb, and the settings of the informer that receives it.
pub(crate) struct Case<'n> {
    pub(crate) verb: Verb,
    pub(crate) name: &'n str,
    pub(crate) response: HostileResponse,
    pub(crate) compression: ListCompression,
    pub(crate) decompressed_by: DecompressedBy,
}

/// Checks a response without compression.
pub(crate) fn check_recovers(verb: Verb, name: &str, response: HostileResponse, reported: &str) {
    let (compression, decompressed_by) = (ListCompression::None, DecompressedBy::Source);
    Case { verb, name, response, compression, decompressed_by }.check_recovers(reported);
}

impl Case<'_> {
    /// Checks that the informer reports `reported`, then recovers, and stays within its memory limit.
    pub(crate) fn check_recovers(self, reported: &str) {
        let Self { verb, name, response, compression, decompressed_by } = self;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::start(verb, response).await;
            PeakAlloc.reset_peak_usage();
            let before = PeakAlloc.current_usage();
            let reports = Arc::new(Mutex::new(Vec::new()));
            let recorded = Arc::clone(&reports);
            let informer = Informer::<ConfigMap>::builder(client(&server.url, decompressed_by))
                .max_object_size(MAX_OBJECT_SIZE)
                .encoding(Encoding::Json)
                .list_compression(compression)
                .config(config(strategy(verb)))
                .on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()))
                .start()
                .unwrap();
            let recovered = timeout(TIMEOUT, wait_until_recovered(&informer)).await;
            let reports = reports.lock().unwrap().clone();
            let context = format!("{verb:?}, {name}, {decompressed_by:?}");
            assert!(recovered.is_ok(), "{context}: not recovered: {:?} {reports:?}", informer.status());
            let is_reported = reports.iter().any(|report| report.contains(reported));
            assert!(is_reported || reported.is_empty(), "{context}: {reports:?}");
            assert!(reports.iter().all(|report| report.len() < 16 << 10), "{context}: a report is too long");
            let peak = PeakAlloc.peak_usage().saturating_sub(before);
            assert!(peak < MAX_MEMORY, "{context}: {peak} bytes were allocated at once");
            informer.stop();
            informer.stopped().await;
        });
    }
}
