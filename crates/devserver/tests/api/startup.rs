//! The time in which a server starts.

use crate::probe::Probe;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_hundred_servers_start_and_answer_quickly() {
    // The first server reads tables that all of them share.
    drop(Probe::new());
    let mut shortest = Duration::MAX;
    let began = Instant::now();
    for _ in 0..100 {
        let start = Instant::now();
        let probe = Probe::new();
        shortest = shortest.min(start.elapsed());
        assert_eq!(probe.get("/api/v1/namespaces/default").await.0, 200);
    }
    let all = began.elapsed();
    println!("start of a server: {shortest:?}; 100 servers with a request each: {all:?}");
    assert!(shortest < Duration::from_millis(5), "{shortest:?}");
    // A second of an idle machine; other processes take their share of a busy one.
    assert!(all < Duration::from_secs(5), "{all:?}");
}
