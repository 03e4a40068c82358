//! How much memory a full relist takes on top of what the cache has, by strategy, with and without `reuse`.
//!
//! `cargo bench -p kube-informer --bench relist` prints the resident memory of a process with 20,000 pods of the corpus
//! before a relist and at its height; the server is another process, and so is each line. The bar is 1.15 with `reuse`.

mod apart;

use apart::Apart;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    cache::Store,
    delta_fifo::DeltaFifo,
    delta_fifo::apply,
    reflector::{Config, Reflector, ReflectorPhase, Strategy},
    source::{ListWatch, ListerWatcher},
};
use std::{env, fs, num::NonZeroUsize, process::Command, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const PODS: u64 = 20_000;

/// Measures one way, in this process.
#[tokio::main(flavor = "current_thread")]
async fn measure(strategy: &str, queue: &str) {
    let mut server = Apart::with_pods(PODS);
    let (store, mut writer) = Store::builder().build().expect("no index to be wrong");
    let (known, builder) = (store.clone(), DeltaFifo::builder());
    let fifo = match queue {
        "reuse" => builder.known_objects(&known).build(),
        _ => builder.build(),
    };
    let mut config = Config::default();
    config.strategy = if strategy == "list" { Strategy::List } else { Strategy::Stream };
    let source = Arc::new(ListWatch::<Pod>::all(apart::client(&server.url)));
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
    // One relist first: what the allocator keeps from the very first list is then part of both figures.
    for turn in 1..=2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let steady = memory("VmRSS");
        fs::write("/proc/self/clear_refs", "5").expect("the height can be forgotten");
        server.expire();
        let is_again = |status: &kube_informer::reflector::ReflectorStatus| {
            status.counts.replaces > turn && status.phase == ReflectorPhase::Watching
        };
        status.wait_for(is_again).await.expect("it runs");
        applied.wait_for(|count| *count > turn).await.expect("it runs");
        let height = memory("VmHWM");
        let ratio = height / steady;
        println!(
            "{strategy:>6} {queue:>8} relist {turn}: {steady:.0} MiB, height {height:.0} MiB, {ratio:.3}"
        );
    }
    cancel.cancel();
    tasks.shutdown().await;
}

/// A figure of this process, in MiB.
fn memory(name: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find(|line| line.starts_with(name)).expect("a known figure");
    let kibibytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kibibytes.expect("a number") / 1024.0
}

fn main() {
    let arguments: Vec<_> = env::args().collect();
    let measured = arguments.iter().position(|argument| argument == "measure");
    if apart::served() {
    } else if let Some(place) = measured {
        measure(&arguments[place + 1], &arguments[place + 2]);
    } else {
        for strategy in ["stream", "list"] {
            for queue in ["reuse", "no-reuse"] {
                let program = env::current_exe().expect("a program has a path");
                let ended = Command::new(program).args(["measure", strategy, queue]).status();
                assert!(ended.expect("this program starts again").success());
            }
        }
    }
}
