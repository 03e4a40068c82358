//! Lists that fail, expire or arrive in pieces.

use crate::harness::{Harness, listing, strategies};
use kube_devserver::{DevServer, Fault, Verb};
use std::{num::NonZeroU64, time::Duration};

#[tokio::test(start_paused = true)]
async fn applies_all_changes() {
    for config in strategies() {
        let harness = Harness::new(config);
        for name in ["a", "b", "c"] {
            harness.create(name).await;
        }
        harness.check_converged().await;
        harness.change("a", "1").await;
        harness.delete("b").await;
        harness.create("d").await;
        harness.check_converged().await;
        assert_eq!(harness.list_counts().0 + harness.list_counts().1, 1, "one initial list");
        assert!(harness.inferred_deletions().is_empty() && harness.reports().is_empty());
        harness.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_list_is_retried() {
    for code in [401, 403, 404, 429, 500, 503, 504] {
        let server = DevServer::start();
        let fault = server.faults().inject(Fault::answer(code).on(Verb::List).of("configmaps").times(3));
        let harness = Harness::on(server, listing());
        fault.hit(3).await;
        harness.create("a").await;
        // The comparison with the server sends a list as well.
        harness.check_converged().await;
        assert_eq!(harness.reports().len(), 3, "{code}: {:?}", harness.reports());
        assert!(
            harness.reports()[0].starts_with(&format!("List: server returned {code}")),
            "{:?}",
            harness.reports()
        );
        harness.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_retried_after_the_time_that_the_server_requests() {
    let server = DevServer::start();
    let busy = Fault::answer(429).retry_after(Duration::from_secs(120)).on(Verb::List).times(1);
    let fault = server.faults().inject(busy);
    let began = tokio::time::Instant::now();
    let mut harness = Harness::on(server, listing());
    fault.hit(1).await;
    harness.status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert!((120..122).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    harness.stop().await;
}

/// A large list whose pages always expire is requested in one response.
#[tokio::test(start_paused = true)]
async fn expired_pages_fall_back_to_a_full_list() {
    let server = DevServer::start();
    let seed = Harness::on(server, listing());
    for number in 0..25 {
        seed.create(&format!("m{number}")).await;
    }
    // A list at any version has one page. The fault makes the next one request the newest version, in pages.
    seed.server.faults().inject(Fault::answer(410).on(Verb::List).of("configmaps").times(1));
    let fault = seed.server.faults().inject(Fault::expire_continue());
    let mut config = listing();
    config.page_size = NonZeroU64::new(10);
    let source = kube_informer::source::ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::namespaced(
        seed.server.client(),
        "default",
    );
    let (store, writer) = kube_informer::cache::Store::builder().build().unwrap();
    let reflector = kube_informer::reflector::Reflector::with_config(source, writer, config);
    let mut status = reflector.status();
    let cancel = tokio_util::sync::CancellationToken::new();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    fault.hit(1).await;
    // The namespace may also have a root certificate.
    assert!(store.len() >= 25, "{}", store.len());
    cancel.cancel();
    task.await.unwrap();
    seed.stop().await;
}

#[tokio::test(start_paused = true)]
async fn bodies_in_chunks_of_any_size_are_read() {
    for size in [1, 7, 1000] {
        for config in strategies() {
            let server = DevServer::start();
            server.faults().inject(Fault::pieces(size));
            let harness = Harness::on(server, config);
            for name in ["a", "b"] {
                harness.create(name).await;
            }
            harness.check_converged().await;
            harness.change("a", "\"}]{\\").await;
            harness.check_converged().await;
            assert!(harness.reports().is_empty(), "{:?}", harness.reports());
            harness.stop().await;
        }
    }
}

/// A list without progress is aborted and retried.
#[tokio::test(start_paused = true)]
async fn a_stalled_list_is_retried() {
    let server = DevServer::start();
    let stall =
        server.faults().inject(Fault::stall_until_withdrawn().on(Verb::List).of("configmaps").times(1));
    let began = tokio::time::Instant::now();
    let mut harness = Harness::on(server, listing());
    stall.hit(1).await;
    harness.status.wait_for(|status| status.counts.replaces >= 1).await.unwrap();
    assert!((90..93).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    harness.stop().await;
}
