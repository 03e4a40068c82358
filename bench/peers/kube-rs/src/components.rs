//! Components of kube-runtime, measured in the same way as those of the other projects.

use crate::controller;
use crate::source::{OBJECTS, events, pod, stamped};
use clap::Subcommand;
use futures_util::{StreamExt, pin_mut, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, reflector, watcher::Event};
use kube_informer_bench_client::{
    latency::Latencies,
    recorder::{Goal, Recorder, now},
    session::print_line,
    usage::Usage,
};
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// As in the examples of shared streams of kube-runtime.
const BUFFER: usize = 256;
const BURST: u64 = 5;
const OTHERS: u64 = 9;

/// The component to measure.
#[derive(Subcommand, Debug)]
pub(crate) enum Component {
    /// Decoded events to several consumers
    Fanout { consumers: u64, events: u64 },
    /// Nine consumers next to one that sleeps at each event
    Slow { milliseconds: u64, sleep: u64 },
    /// Writes to a store while threads list it
    Readers { readers: u64, milliseconds: u64 },
    /// A controller: reconciles of all objects, then 1,000 events per second
    Controller { rounds: u64, milliseconds: u64 },
}

/// Measures one component and prints the result.
pub(crate) fn run(component: &Component) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    match *component {
        Component::Fanout { consumers, events } => runtime.block_on(fanout(consumers, events)),
        Component::Slow { milliseconds, sleep } => runtime.block_on(slow(milliseconds, sleep)),
        Component::Controller { rounds, milliseconds } => {
            runtime.block_on(controller::measure(rounds, milliseconds));
        }
        Component::Readers { readers: count, milliseconds } => readers(count, milliseconds),
    }
    runtime.shutdown_background();
    Ok(())
}

async fn fanout(handlers: u64, count: u64) {
    let changes: Vec<_> = (0..count).map(|turn| pod(turn % OBJECTS, turn + 2)).collect();
    let (_, writer) = reflector::store_shared::<Pod>(BUFFER);
    let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for seen in &counts {
        let (mut pods, seen) = (writer.subscribe().expect("the store is shared"), Arc::clone(seen));
        tokio::spawn(async move {
            while let Some(pod) = pods.next().await {
                seen.fetch_add(u64::from(pod.metadata.name.is_some()), Ordering::Relaxed);
            }
        });
    }
    let (begin, begun) = tokio::sync::oneshot::channel();
    let waits = stream::once(async move { _ = begun.await }).filter_map(|()| async { None });
    let stream = events(waits.chain(stream::iter(changes)).chain(stream::pending())).reflect_shared(writer);
    tokio::spawn(async move {
        pin_mut!(stream);
        while stream.next().await.is_some() {}
    });
    counted(&counts, OBJECTS).await;
    let began = Instant::now();
    _ = begin.send(());
    counted(&counts, OBJECTS + count).await;
    print_rate(count as f64 / began.elapsed().as_secs_f64());
}

async fn counted(counts: &[Arc<AtomicU64>], events: u64) {
    while counts.iter().any(|count| count.load(Ordering::Relaxed) < events) {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

async fn slow(milliseconds: u64, sleep: u64) {
    let count = milliseconds * BURST;
    let (begin, begun) = tokio::sync::oneshot::channel();
    let waits = stream::once(async move { _ = begun.await }).filter_map(|()| async { None });
    let bursts = stream::unfold((None, 0), move |(began, turn)| async move {
        if turn >= count {
            return None;
        }
        // The clock starts with the first poll.
        let began = began.unwrap_or_else(Instant::now);
        let due = began + Duration::from_millis(turn / BURST);
        tokio::time::sleep_until(due.into()).await;
        // The time is the scheduled one, so that latencies include a delayed poll.
        let late = due.elapsed().as_nanos() as u64;
        let burst: Vec<_> = (turn..turn + BURST).map(|turn| stamped(turn, now() - late)).collect();
        Some((stream::iter(burst), (Some(began), turn + BURST)))
    });
    let (_, writer) = reflector::store_shared::<Pod>(BUFFER);
    let recorders: Vec<_> = (0..OTHERS).map(|_| Arc::new(Recorder::default())).collect();
    for recorder in &recorders {
        let (mut pods, recorder) = (writer.subscribe().expect("the store is shared"), Arc::clone(recorder));
        recorder.expect(Goal::Timed(count));
        tokio::spawn(async move {
            while let Some(pod) = pods.next().await {
                recorder.event(|| &*pod);
            }
        });
    }
    let mut pods = writer.subscribe().expect("the store is shared");
    tokio::spawn(async move {
        while let Some(pod) = pods.next().await {
            // Only changes are slow. A sleep of zero would still take a millisecond.
            if sleep > 0 && pod.metadata.annotations.is_some() {
                tokio::time::sleep(Duration::from_millis(sleep)).await;
            }
        }
    });
    let stream = events(waits.chain(bursts.flatten()).chain(stream::pending())).reflect_shared(writer);
    tokio::spawn(async move {
        pin_mut!(stream);
        while stream.next().await.is_some() {}
    });
    while recorders.iter().any(|recorder| recorder.events() < OBJECTS) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = Usage::now().rss;
    _ = begin.send(());
    // The slow subscriber delays the others, so only events within this time count.
    tokio::time::sleep(Duration::from_millis(milliseconds * 2)).await;
    let mut latencies = Latencies::default();
    recorders.iter().for_each(|recorder| latencies.merge(&recorder.record().latencies));
    print_line(&serde_json::json!({
        "p99": latencies.quantile(0.99),
        "delivered": latencies.len() as f64 / (count * OTHERS) as f64,
        "growth": Usage::now().rss.saturating_sub(before),
    }));
}

fn readers(readers: u64, milliseconds: u64) {
    let (store, mut writer) = reflector::store::<Pod>();
    (0..OBJECTS).for_each(|number| writer.apply_watcher_event(&Event::Apply(pod(number, 1))));
    let pods: Vec<_> =
        (0..OBJECTS * 2).map(|turn| Event::Apply(pod(turn * 7919 % OBJECTS, turn + 2))).collect();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    black_box(store.state());
                }
            });
        }
        let (began, mut writes) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_millis(milliseconds) {
            writer.apply_watcher_event(&pods[writes % pods.len()]);
            writes += 1;
        }
        print_rate(writes as f64 / began.elapsed().as_secs_f64());
        stop.store(true, Ordering::Relaxed);
    });
}

fn print_rate(rate: f64) {
    print_line(&serde_json::json!({ "rate": rate }));
}
