//! The peak memory of a relist, by strategy, with and without `known_objects`.
//!
//! `cargo bench -p kube-informer --bench relist` prints the resident memory of a process with 20,000 pods of the corpus before a relist
//! and its peak during the relist. The server and each measurement run in separate processes. The goal is a ratio of 1.15 with
//! `known_objects`.

mod server_process;

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    cache::Store,
    delta_fifo::{DeltaFifo, apply},
    reflector::{Config, Reflector, ReflectorPhase, Strategy},
    source::{ListWatch, ListerWatcher},
};
use server_process::ServerProcess;
use std::{env, fs, num::NonZeroUsize, process::Command, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const PODS: u64 = 20_000;

/// Measures one configuration in this process.
#[tokio::main(flavor = "current_thread")]
async fn measure(strategy: &str, queue: &str) {
    let mut server = ServerProcess::with_pods(PODS);
    let (store, mut writer) = Store::builder().build().expect("no index conflicts");
    let (known, builder) = (store.clone(), DeltaFifo::builder());
    let fifo = match queue {
        "known" => builder.known_objects(&known).build(),
        _ => builder.build(),
    };
    let mut config = Config::default();
    config.strategy = if strategy == "list" { Strategy::List } else { Strategy::Stream };
    let source = Arc::new(ListWatch::<Pod>::all(server_process::client(&server.url)));
    let reflector = Reflector::with_config(Arc::clone(&source), fifo.clone(), config);
    let (mut status, cancel, mut tasks) = (reflector.status(), CancellationToken::new(), JoinSet::new());
    tasks.spawn(reflector.run(cancel.clone()));
    let (sender, mut applied) = tokio::sync::watch::channel(0);
    tasks.spawn(async move {
        while let Some(batch) = fifo.pop_batch(NonZeroUsize::MAX).await {
            let mut events = Vec::new();
            apply(batch, &mut writer, &mut events).done();
            drop(events);
            sender.send_modify(|count| *count += 1);
        }
    });
    applied.wait_for(|count| *count >= 1).await.expect("it runs");
    assert_eq!(store.len() as u64, PODS);
    let read = source.bytes_read().unwrap_or_default() >> 20;
    println!("{strategy:>6} {queue:>8} {PODS} pods, {read} MiB on the wire");
    // The first relist is a warm-up: afterwards the memory that the allocator retains is part of both values.
    for turn in 1..=2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let steady = memory("VmRSS");
        fs::write("/proc/self/clear_refs", "5").expect("the peak can be reset");
        server.expire();
        let has_relisted = |status: &kube_informer::reflector::ReflectorStatus| {
            status.counts.replaces > turn && status.phase == ReflectorPhase::Watching
        };
        status.wait_for(has_relisted).await.expect("it runs");
        applied.wait_for(|count| *count > turn).await.expect("it runs");
        let peak = memory("VmHWM");
        let ratio = peak / steady;
        println!("{strategy:>6} {queue:>8} relist {turn}: {steady:.0} MiB, peak {peak:.0} MiB, {ratio:.3}");
    }
    cancel.cancel();
    tasks.shutdown().await;
}

/// Returns a memory statistic of this process in MiB.
fn memory(name: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a known statistic");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kibibytes.expect("a number") / 1024.0
}

fn main() {
    let arguments: Vec<_> = env::args().collect();
    let measured = arguments.iter().position(|argument| argument == "measure");
    if server_process::serve_if_requested() {
    } else if let Some(position) = measured {
        measure(&arguments[position + 1], &arguments[position + 2]);
    } else {
        for strategy in ["stream", "list"] {
            for queue in ["known", "unknown"] {
                let program = env::current_exe().expect("the executable has a path");
                let ended = Command::new(program).args(["measure", strategy, queue]).status();
                assert!(ended.expect("the process starts").success());
            }
        }
    }
}
