//! The CPU time of fifty idle reflectors.
//!
//! `cargo bench -p kube-informer --bench idle` prints the CPU usage of the process over ten seconds. The server runs in a separate
//! process. The goal is 0.5 %.

mod server_process;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    cache::Store,
    reflector::{Reflector, ReflectorPhase},
    source::ListWatch,
};
use server_process::ServerProcess;
use std::{fs, time::Duration};
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

const REFLECTORS: usize = 50;
const PODS: u64 = 100;
const PERIOD: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn idle() {
    let server = ServerProcess::with_pods(PODS);
    let (client, cancel, mut tasks) =
        (server_process::client(&server.url), CancellationToken::new(), JoinSet::new());
    let mut stores = Vec::new();
    for _ in 0..REFLECTORS {
        let (store, writer) = Store::builder().build().expect("no index conflicts");
        let reflector = Reflector::new(ListWatch::<Pod>::all(client.clone()), writer);
        let mut status = reflector.status();
        tasks.spawn(reflector.run(cancel.clone()));
        status.wait_for(|status| status.phase == ReflectorPhase::Watching).await.expect("it runs");
        assert_eq!(store.len() as u64, PODS);
        stores.push(store);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, began) = (cpu_time(), Instant::now());
    tokio::time::sleep(PERIOD).await;
    let (used, passed) = (cpu_time() - before, began.elapsed());
    let percent = 100.0 * used.as_secs_f64() / passed.as_secs_f64();
    println!("{REFLECTORS} reflectors of {PODS} pods: {before:?} to start");
    println!("idle: {used:?} of {passed:.1?}, {percent:.3} % of a core");
    cancel.cancel();
    while let Some(ended) = tasks.join_next().await {
        ended.expect("no reflector panics");
    }
}

/// Returns the CPU time of all threads of this process.
fn cpu_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("Linux");
    let times = threads.flatten().map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        text.split_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
    });
    Duration::from_nanos(times.sum())
}

fn main() {
    if !server_process::serve_if_requested() {
        idle();
    }
}
