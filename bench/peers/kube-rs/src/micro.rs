//! Parts of kube-runtime on their own, in the shape in which the others measure theirs.

use futures_util::{Stream, StreamExt, pin_mut, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, reflector, watcher::{self, Event}};
use kube_informer_bench_client::{
    latency::{Timed, windows},
    seen::{Goal, SENT, Seen, now},
    session::say,
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

const OBJECTS: u64 = 10_000;
/// As in kube-runtime's own examples of shared streams.
const BUFFER: usize = 256;
const BURST: u64 = 5;
const OTHERS: u64 = 9;

/// Measures one part: `fanout HANDLERS EVENTS`, `slow MILLISECONDS SLEEP` or `readers READERS MILLISECONDS`.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let number = |at: usize| -> Result<u64, String> {
        words.get(at).and_then(|word| word.parse().ok()).ok_or_else(|| "a number is missing".to_owned())
    };
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    match words.first().map(String::as_str) {
        Some("fanout") => runtime.block_on(fanout(number(1)?, number(2)?)),
        Some("slow") => runtime.block_on(slow(number(1)?, number(2)?)),
        Some("readers") => readers(number(1)?, number(2)?),
        _ => return Err("there is no such part".to_owned()),
    }
    runtime.shutdown_background();
    Ok(())
}

fn pod(number: u64, version: u64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

/// The stream of a watcher, without a server: a list, and then changes.
fn events(changes: impl Stream<Item = Pod>) -> impl Stream<Item = Result<Event<Pod>, watcher::Error>> {
    let list = (0..OBJECTS).map(|number| Event::InitApply(pod(number, 1)));
    let list = stream::iter([Event::Init].into_iter().chain(list).chain([Event::InitDone]));
    list.chain(changes.map(Event::Apply)).map(Ok)
}

async fn fanout(handlers: u64, count: u64) {
    let changes: Vec<_> = (0..count).map(|turn| pod(turn % OBJECTS, turn + 2)).collect();
    let (_, writer) = reflector::store_shared::<Pod>(BUFFER);
    let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for seen in &counts {
        let (mut follower, seen) = (writer.subscribe().expect("the store is shared"), Arc::clone(seen));
        tokio::spawn(async move {
            while let Some(pod) = follower.next().await {
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
    say_rate(count as f64 / began.elapsed().as_secs_f64());
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
        // The clock starts when the first events are asked for.
        let began = began.unwrap_or_else(Instant::now);
        let due = began + Duration::from_millis(turn / BURST);
        tokio::time::sleep_until(due.into()).await;
        // A stream that is not asked is late, and so the time is that at which it was to be.
        let late = due.elapsed().as_nanos() as u64;
        let burst: Vec<_> = (turn..turn + BURST).map(|turn| stamped(turn, now() - late)).collect();
        Some((stream::iter(burst), (Some(began), turn + BURST)))
    });
    let (_, writer) = reflector::store_shared::<Pod>(BUFFER);
    let all: Vec<_> = (0..OTHERS).map(|_| Arc::new(Seen::default())).collect();
    for seen in &all {
        let (mut follower, seen) = (writer.subscribe().expect("the store is shared"), Arc::clone(seen));
        seen.expect(Goal::Timed(count));
        tokio::spawn(async move {
            while let Some(pod) = follower.next().await {
                seen.told(|| &*pod);
            }
        });
    }
    let mut follower = writer.subscribe().expect("the store is shared");
    tokio::spawn(async move {
        while let Some(pod) = follower.next().await {
            // Only changes are slow to handle, and a sleep of nothing is none: the timer would make a millisecond of it.
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
    while all.iter().any(|seen| seen.events() < OBJECTS) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = Usage::now().rss;
    _ = begin.send(());
    // Nobody waits for those who are held up by a slow one: what was told in time is what there is.
    tokio::time::sleep(Duration::from_millis(milliseconds * 2)).await;
    let timed: Vec<Timed> = all.iter().flat_map(|seen| seen.so_far().timed).collect();
    say(&serde_json::json!({
        "p99": windows(&timed, 0.99),
        "delivered": timed.len() as f64 / (count * OTHERS) as f64,
        "growth": Usage::now().rss.saturating_sub(before),
    }));
}

fn stamped(turn: u64, sent: u64) -> Pod {
    let mut pod = pod(turn % OBJECTS, turn + 2);
    pod.metadata.annotations = Some([(SENT.to_owned(), sent.to_string())].into());
    pod
}

fn readers(readers: u64, milliseconds: u64) {
    let (store, mut writer) = reflector::store::<Pod>();
    (0..OBJECTS).for_each(|number| writer.apply_watcher_event(&Event::Apply(pod(number, 1))));
    let pods: Vec<_> = (0..OBJECTS * 2).map(|turn| Event::Apply(pod(turn * 7919 % OBJECTS, turn + 2))).collect();
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
        say_rate(writes as f64 / began.elapsed().as_secs_f64());
        stop.store(true, Ordering::Relaxed);
    });
}

fn say_rate(rate: f64) {
    say(&serde_json::json!({ "rate": rate }));
}
