//! Resyncs of a reflector whose source is always ready.

use futures_util::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    BoxError, DeltaBatch,
    object::Listing,
    reflector::{Config, Reflector, Sink},
    source::{FromFns, Page, Watch},
    wire::WatchEvent,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Records whether a resync happened.
struct ResyncRecorder(Arc<AtomicBool>);

impl Sink<ConfigMap> for ResyncRecorder {
    async fn replace(&mut self, _: Listing<ConfigMap>) -> Result<(), BoxError> {
        Ok(())
    }

    async fn apply(&mut self, _: DeltaBatch<ConfigMap>) -> Result<(), BoxError> {
        Ok(())
    }

    async fn resumed(&mut self) -> Result<(), BoxError> {
        Ok(())
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        self.0.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// The watch never waits, so that a reflector that prefers events never gets to its timer. Real time, because paused time
/// does not advance while a task is ready.
#[tokio::test]
async fn a_source_that_is_always_ready_does_not_prevent_resyncs() {
    let has_resynced = Arc::new(AtomicBool::new(false));
    let watched = Arc::clone(&has_resynced);
    let source = FromFns::new(
        |_| async {
            Ok(Page { items: Vec::new(), version: Some("1".parse().unwrap()), continue_token: None })
        },
        move |_| {
            let (has_resynced, started) = (Arc::clone(&watched), Instant::now());
            let mut version = 1;
            let events = stream::iter(std::iter::from_fn(move || {
                version += 1;
                let mut map = crate::cluster::named("a");
                map.metadata.namespace = Some("default".to_owned());
                map.metadata.resource_version = Some(version.to_string());
                let is_over =
                    has_resynced.load(Ordering::SeqCst) || started.elapsed() > Duration::from_secs(10);
                (!is_over).then_some(Ok(WatchEvent::Modified(map)))
            }));
            async { Ok(Watch::new(events)) }
        },
    );
    let mut config = Config::default();
    config.resync = Duration::from_millis(10);
    let reflector = Reflector::with_config(source, ResyncRecorder(Arc::clone(&has_resynced)), config);
    let (mut status, cancel) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    // The first watch ends after a resync, or after ten seconds.
    status.wait_for(|status| status.counts.watches == 2).await.unwrap();
    assert!(has_resynced.load(Ordering::SeqCst), "no resync in ten seconds");
    cancel.cancel();
    task.await.unwrap();
}
