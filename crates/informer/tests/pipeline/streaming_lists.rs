//! Servers and proxies with incomplete support for streaming lists.

use crate::harness::Harness;
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::reflector::{Config, Consistency};
use std::time::Duration;

async fn harness_with(fault: Fault) -> Harness {
    let server = DevServer::start();
    server.faults().inject(fault);
    let harness = Harness::on(server, Config::default());
    harness.create("a").await;
    harness.check_converged().await;
    harness
}

#[tokio::test(start_paused = true)]
async fn falls_back_to_list_without_streaming_lists() {
    let harness = harness_with(Fault::refuse_streaming_lists()).await;
    assert_eq!(harness.list_counts(), (1, 1));
    harness.stop().await;
}

/// Some proxies drop the bookmark that ends the initial list.
// A9
#[tokio::test(start_paused = true)]
async fn falls_back_to_list_if_the_end_bookmark_is_dropped() {
    let began = tokio::time::Instant::now();
    let harness = harness_with(Fault::drop_initial_events_end()).await;
    assert_eq!(harness.list_counts(), (1, 1), "one stream, then a list");
    assert!(began.elapsed() < Duration::from_secs(130), "{:?}", began.elapsed());
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_late_end_bookmark() {
    let harness = harness_with(Fault::delay_initial_events_end(Duration::from_secs(50))).await;
    assert_eq!(harness.list_counts(), (0, 1));
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_streaming_list_is_restarted() {
    let server = DevServer::start();
    let seed = Harness::on(server, crate::harness::listing());
    for number in 0..10 {
        seed.create(&format!("m{number}")).await;
    }
    seed.check_converged().await;
    let cut =
        seed.server.faults().inject(Fault::cut_after_events(3).on(Verb::Watch).of("configmaps").times(2));
    let source = kube_informer::source::ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(
        seed.server.client(),
        "default",
    );
    let (store, writer) = kube_informer::cache::Store::builder().build().unwrap();
    let reflector = kube_informer::reflector::Reflector::new(source, writer);
    let mut status = reflector.status();
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert_eq!((cut.hits(), status.borrow().counts.streams), (2, 3));
    assert_eq!(store.len(), seed.store.len());
    cancel.cancel();
    task.await.unwrap();
    seed.stop().await;
}

// R54
#[tokio::test(start_paused = true)]
async fn the_consistency_check_compares_streamed_objects_with_a_list() {
    let mut config = Config::default();
    config.consistency = Consistency::Checked;
    let server = DevServer::start();
    let refused = server.faults().inject(Fault::answer(503).on(Verb::List).of("configmaps").times(1));
    let harness = Harness::on(server, config);
    refused.hit(1).await;
    for number in 0..20 {
        harness.create(&format!("m{number}")).await;
    }
    harness.server.cut_watches();
    harness.server.compact();
    harness.check_converged().await;
    let reports = harness.reports();
    assert!(reports.iter().any(|report| report.starts_with("Check: server returned 503")), "{reports:?}");
    assert!(!reports.iter().any(|report| report.contains("differs from a list")), "{reports:?}");
    harness.stop().await;
}
