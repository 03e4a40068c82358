//! Realistic pods change at a rate.

use crate::probe::Probe;
use kube_devserver::Churn;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn pods_are_there_at_once_and_change_in_time() {
    let probe = Probe::new();
    let churning = probe.server.churn(Churn::pods(200).seed(7).rate(100.0));
    let (_, list) = probe.get("/api/v1/pods?limit=1000").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 200);
    assert_eq!(list["items"][0]["status"]["phase"].as_str().map(str::is_empty), Some(false));
    let before = probe.server.version() - churning.changes();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let changes = churning.changes();
    assert!((195..=205).contains(&changes), "{changes}");
    assert_eq!(probe.server.version(), before + changes);
    churning.stop().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(probe.server.version(), before + changes);
}

#[tokio::test(start_paused = true)]
async fn equal_seeds_make_equal_pods() {
    let sum = |seed| {
        let probe = Probe::new();
        probe.server.churn(Churn::pods(20).seed(seed)).checksum().to_string()
    };
    assert_eq!(sum(3), sum(3));
    assert_ne!(sum(3), sum(4));
}
