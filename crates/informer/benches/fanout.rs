//! The rate at which many handlers receive decoded events.
//!
//! `cargo bench -p kube-informer --bench fanout` prints the events per second for each handler. The goal is a million for each of a
//! hundred handlers. For comparison it measures two alternatives with tokio: one channel per handler, as in client-go, and one
//! broadcast channel.

use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Event, Informer,
    source::Script,
    subscription::{Policy, SubscribeOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use tokio::{
    sync::{broadcast, mpsc},
    task::JoinSet,
};

const EVENTS: u64 = 2_000_000;
const BATCH: usize = 256;
/// The number of events for the alternatives, which are slower.
const FEWER: u64 = 50_000;

fn events() -> Vec<Event<Pod>> {
    let pod = |number: usize| {
        let mut pod = Pod::default();
        pod.metadata.name = Some(format!("pod-{number}"));
        Arc::new(pod)
    };
    (0..BATCH).map(|number| Event::update(pod(number), pod(number)).expect("a pod with a name")).collect()
}

/// Waits until every handler has counted all events.
async fn all_counted(counts: &[Arc<AtomicU64>], events: u64) {
    while counts.iter().any(|count| count.load(Ordering::Relaxed) < events) {
        tokio::task::yield_now().await;
    }
}

async fn informer(handlers: usize, policy: Policy) -> f64 {
    let informer = Informer::from_source(Script::<Pod>::new()).build().expect("a valid configuration");
    let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for count in &counts {
        let (mut seen, count) = (0, Arc::clone(count));
        let handler = move |event: &Event<Pod>| {
            seen += u64::from(event.object().get().metadata.name.is_some());
            count.store(seen, Ordering::Relaxed);
        };
        informer
            .add_handler_with(handler, SubscribeOptions::new().policy(policy))
            .expect("the informer is running");
    }
    let (batch, began) = (events(), Instant::now());
    for _ in 0..EVENTS / BATCH as u64 {
        informer.inject(batch.iter().cloned());
        tokio::task::yield_now().await;
    }
    all_counted(&counts, EVENTS / BATCH as u64 * BATCH as u64).await;
    let rate = EVENTS as f64 / began.elapsed().as_secs_f64();
    informer.stop();
    informer.stopped().await;
    rate
}

async fn channels(handlers: usize) -> f64 {
    let (mut senders, mut tasks, mut counts) = (Vec::new(), JoinSet::new(), Vec::new());
    for _ in 0..handlers {
        let ((sender, mut receiver), count) =
            (mpsc::unbounded_channel::<Event<Pod>>(), Arc::new(AtomicU64::new(0)));
        counts.push(Arc::clone(&count));
        senders.push(sender);
        tasks.spawn(async move {
            while let Some(event) = receiver.recv().await {
                count.fetch_add(u64::from(event.object().get().metadata.name.is_some()), Ordering::Relaxed);
            }
        });
    }
    let (batch, began) = (events(), Instant::now());
    for event in batch.iter().cycle().take(FEWER as usize) {
        senders.iter().for_each(|sender| drop(sender.send(event.clone())));
    }
    all_counted(&counts, FEWER).await;
    FEWER as f64 / began.elapsed().as_secs_f64()
}

async fn broadcast(handlers: usize) -> f64 {
    let (sender, mut tasks, mut counts) =
        (broadcast::Sender::<Event<Pod>>::new(1 << 17), JoinSet::new(), Vec::new());
    for _ in 0..handlers {
        let (mut receiver, count) = (sender.subscribe(), Arc::new(AtomicU64::new(0)));
        counts.push(Arc::clone(&count));
        tasks.spawn(async move {
            while let Ok(event) = receiver.recv().await {
                count.fetch_add(u64::from(event.object().get().metadata.name.is_some()), Ordering::Relaxed);
            }
        });
    }
    let (batch, began) = (events(), Instant::now());
    for event in batch.iter().cycle().take(FEWER as usize) {
        sender.send(event.clone()).expect("there are receivers");
    }
    all_counted(&counts, FEWER).await;
    FEWER as f64 / began.elapsed().as_secs_f64()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!("events/s to each handler\n");
    println!(
        "{:>8} {:>14} {:>14} {:>14} {:>14}",
        "handlers", "channels", "broadcast", "informer", "coalescing"
    );
    for handlers in [1, 10, 100] {
        let (channels, broadcast) = (channels(handlers).await, broadcast(handlers).await);
        let unbounded = informer(handlers, Policy::Unbounded).await;
        let coalescing = informer(handlers, Policy::coalesce(1 << 22)).await;
        println!("{handlers:>8} {channels:>14.0} {broadcast:>14.0} {unbounded:>14.0} {coalescing:>14.0}");
    }
}
