//! Watches that are closed, throttled, stalled and expired.

use crate::harness::{Harness, strategies};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_closed_watch_reconnects_without_a_list() {
    for config in strategies() {
        for closed in [Fault::cut_after_events(2), Fault::cut_after_events(2).abruptly()] {
            let harness = Harness::new(config.clone());
            harness.check_converged().await;
            let fault =
                harness.server.faults().inject(closed.clone().on(Verb::Watch).of("configmaps").times(5));
            harness.server.cut_watches();
            for number in 0..12 {
                harness.create(&format!("m{number}")).await;
            }
            harness.check_converged().await;
            assert!(fault.hits() >= 3, "{}", fault.hits());
            assert_eq!(harness.list_counts().0 + harness.list_counts().1, 1, "no second list");
            harness.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_list_after_a_server_restart_with_its_data() {
    let harness = Harness::new(kube_informer::reflector::Config::default());
    harness.create("a").await;
    harness.check_converged().await;
    harness.server.restart(Versions::Kept);
    harness.change("a", "1").await;
    harness.check_converged().await;
    assert_eq!(harness.list_counts(), (0, 1));
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn relists_after_compaction_and_delivers_missed_deletions() {
    for config in strategies() {
        let harness = Harness::new(config);
        for name in ["a", "b"] {
            harness.create(name).await;
        }
        harness.check_converged().await;
        // No watch can be opened, so the following changes are missed.
        let fault =
            harness.server.faults().inject(Fault::answer(429).on(Verb::Watch).of("configmaps").times(2));
        harness.server.cut_watches();
        fault.hit(1).await;
        harness.delete("a").await;
        harness.change("b", "1").await;
        harness.server.compact();
        harness.check_converged().await;
        assert_eq!(harness.inferred_deletions(), ["default/a"]);
        assert!(harness.reports().iter().any(|report| report.contains("410")), "{:?}", harness.reports());
        harness.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttled_watch_is_retried_without_a_list() {
    for config in strategies() {
        let harness = Harness::new(config);
        harness.check_converged().await;
        let fault =
            harness.server.faults().inject(Fault::answer(429).on(Verb::Watch).of("configmaps").times(4));
        harness.server.cut_watches();
        fault.hit(4).await;
        harness.create("a").await;
        harness.check_converged().await;
        assert_eq!(harness.list_counts().0 + harness.list_counts().1, 1);
        assert_eq!(harness.reports().len(), 4);
        harness.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn refused_connections_are_retried_without_a_list() {
    let harness = Harness::new(kube_informer::reflector::Config::default());
    harness.create("a").await;
    harness.check_converged().await;
    let refused = harness.server.faults().inject(Fault::refuse_connections(Duration::from_secs(20)));
    harness.server.cut_watches();
    refused.hit(1).await;
    tokio::time::advance(Duration::from_secs(21)).await;
    harness.create("b").await;
    harness.check_converged().await;
    assert_eq!(harness.list_counts(), (0, 1), "no list: {:?}", harness.reports());
    harness.stop().await;
}

/// A dead connection that is not closed.
#[tokio::test(start_paused = true)]
async fn a_stalled_watch_is_reopened() {
    let server = DevServer::start();
    let harness = Harness::on(server, crate::harness::listing());
    harness.check_converged().await;
    let stall = harness
        .server
        .faults()
        .inject(Fault::stall_until_withdrawn().on(Verb::Watch).of("configmaps").times(1));
    harness.server.cut_watches();
    stall.hit(1).await;
    harness.create("a").await;
    let began = tokio::time::Instant::now();
    harness.check_converged().await;
    assert!(began.elapsed() <= Duration::from_secs(631), "{:?}", began.elapsed());
    assert_eq!(harness.list_counts(), (1, 0));
    harness.stop().await;
}

#[tokio::test(start_paused = true)]
async fn missing_or_late_bookmarks_are_tolerated() {
    for fault in [Fault::drop_bookmarks(), Fault::delay_bookmarks(Duration::from_secs(30))] {
        let server = DevServer::start();
        server.faults().inject(fault);
        let harness = Harness::on(server, crate::harness::listing());
        harness.create("a").await;
        harness.check_converged().await;
        tokio::time::advance(Duration::from_secs(3600)).await;
        harness.change("a", "1").await;
        harness.check_converged().await;
        assert_eq!(harness.list_counts(), (1, 0));
        harness.stop().await;
    }
}
