//! A restored cache is readable at once, and confirmed when it has reached the version of the server.

use crate::restart::{Folder, abc, maps};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_devserver::Fault;
use kube_informer::{
    Informer,
    informer::{CacheState, InformerPhase},
    manager::PrometheusRecorder,
    subscription::metrics::{CONFIRMED, READABLE},
};
use std::time::Duration;

/// Returns the value of a gauge of the informer with this name.
fn gauge(recorder: &PrometheusRecorder, metric: &str, name: &str) -> f64 {
    let text = recorder.render();
    let prefix = format!("{metric}{{name=\"{name}\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&prefix));
    value.unwrap_or_else(|| panic!("{prefix} is not in\n{text}")).parse().unwrap()
}

async fn stop(maps: &Informer<ConfigMap>) {
    maps.stop();
    maps.stopped().await;
}

// A15
#[tokio::test(start_paused = true)]
async fn without_a_saved_state_a_cache_becomes_readable_and_confirmed_at_the_same_time() {
    let recorder = PrometheusRecorder::new();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let cluster = abc().await;
    let fault = cluster.server.faults().inject(Fault::answer(503).of("configmaps"));
    let maps = maps(&cluster).named("state-of-new").build().unwrap();
    maps.start();
    maps.watch_status().wait_for(|status| status.counts.errors > 0).await.unwrap();
    let status = maps.status();
    assert_eq!((status.cache, status.phase), (CacheState::Incomplete, InformerPhase::Syncing));
    assert_eq!((status.times.readable, status.times.synced), (None, None));

    fault.withdraw();
    maps.synced().await.unwrap();
    let status = maps.status();
    assert_eq!((status.cache, status.phase), (CacheState::Confirmed, InformerPhase::Synced));
    assert!(status.times.synced.is_some() && status.times.readable == status.times.synced);
    let [readable, confirmed] = [READABLE, CONFIRMED].map(|metric| gauge(&recorder, metric, "state-of-new"));
    assert!(readable > 0.0 && readable == confirmed);
    stop(&maps).await;
    assert_eq!(maps.status().cache, CacheState::Confirmed, "the cache stays readable");
}

// A15
#[tokio::test(start_paused = true)]
async fn a_restored_cache_is_readable_before_it_is_confirmed() {
    let recorder = PrometheusRecorder::new();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (cluster, folder) = (abc().await, Folder::new());
    let first = maps(&cluster).save_to(&folder).start().unwrap();
    first.synced().await.unwrap();
    stop(&first).await;

    let name = "state-of-restored";
    let fault = cluster.server.faults().inject(Fault::answer(503).of("configmaps"));
    let maps = maps(&cluster).named(name).save_to(&folder).build().unwrap();
    let status = maps.status();
    assert_eq!((status.cache, status.phase), (CacheState::Readable, InformerPhase::Idle));
    let readable = status.times.readable.unwrap();
    assert_eq!((status.times.synced, status.sources[0].cache), (None, CacheState::Readable));
    assert!(gauge(&recorder, READABLE, name) > 0.0);
    assert_eq!(gauge(&recorder, CONFIRMED, name), 0.0);

    maps.start();
    let is_confirmed = tokio::time::timeout(Duration::from_secs(300), maps.synced()).await.is_ok();
    let status = maps.status();
    assert!(!is_confirmed, "the server does not respond");
    assert_eq!((status.cache, status.phase), (CacheState::Readable, InformerPhase::Syncing));
    assert_eq!(gauge(&recorder, CONFIRMED, name), 0.0);

    fault.withdraw();
    maps.synced().await.unwrap();
    let status = maps.status();
    assert_eq!((status.cache, status.phase), (CacheState::Confirmed, InformerPhase::Synced));
    assert_eq!(status.times.readable, Some(readable), "the first time");
    assert!(status.times.synced.unwrap() - readable >= Duration::from_secs(300));
    assert!(gauge(&recorder, CONFIRMED, name) >= gauge(&recorder, READABLE, name));
    stop(&maps).await;
}

// A15
#[tokio::test(start_paused = true)]
async fn the_state_is_the_lowest_of_all_namespaces() {
    let (cluster, folder) = (abc().await, Folder::new());
    let other = cluster.namespace("other").await;
    other.create(&Default::default(), &crate::cluster::named("z")).await.unwrap();
    let of = |namespaces: &[&str]| {
        Informer::<ConfigMap>::builder(cluster.server.client())
            .namespaces(namespaces.iter().copied())
            .save_to(&folder)
            .on_error(|_| {})
            .build()
            .unwrap()
    };
    let first = of(&["default"]);
    first.start();
    first.synced().await.unwrap();
    stop(&first).await;
    let both = of(&["default", "other"]);
    let states = |maps: &Informer<ConfigMap>| {
        maps.status().sources.iter().map(|source| source.cache).collect::<Vec<_>>()
    };
    assert_eq!(states(&both), [CacheState::Readable, CacheState::Incomplete]);
    assert_eq!((both.status().cache, both.status().times.readable), (CacheState::Incomplete, None));
    both.start();
    both.synced().await.unwrap();
    assert_eq!(states(&both), [CacheState::Confirmed; 2]);
    assert_eq!(both.status().cache, CacheState::Confirmed);
    assert!(both.status().times.readable.is_some());
    stop(&both).await;
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_is_installed_later_receives_the_times() {
    let cluster = abc().await;
    let maps = maps(&cluster).named("state-for-late-recorder").start().unwrap();
    maps.synced().await.unwrap();
    let recorder = PrometheusRecorder::new();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let changed = cluster.change("a", "changed").await.metadata.resource_version.unwrap();
    maps.wait_for(&changed.parse().unwrap()).await.unwrap();
    let [readable, confirmed] =
        [READABLE, CONFIRMED].map(|metric| gauge(&recorder, metric, "state-for-late-recorder"));
    assert!(readable > 0.0 && confirmed >= readable);
    stop(&maps).await;
}
