//! Parts of ours on their own, each in the shape in which the peers measure theirs.

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Event, Informer,
    list_watch::{FromFns, Page, Watch},
    store::Store,
    subscription::{Policy, Subscribe},
    wire::{ResourceVersion, WatchEvent},
};
use kube_informer_bench_client::session::say;
use kube_workqueue::Queue;
use serde_json::{Value, json};
use std::{
    hint::black_box,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

const OBJECTS: u64 = 10_000;

/// Measures one part: `fanout HANDLERS EVENTS`, `readers READERS MILLISECONDS`, `queue ITEMS` or `fill ITEMS`.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let words: Vec<_> = arguments.collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let report = match words.as_slice() {
        ["fanout", handlers, events] => fanout(number(handlers)?, number(events)?),
        ["readers", readers, period] => Ok(readers_beside(number(readers)?, number(period)?)),
        ["queue", items] => Ok(queue(number(items)?)),
        ["fill", items] => Ok(fill(number(items)?)),
        _ => Err(format!("there is no part `{}`", words.join(" "))),
    }?;
    say(&report);
    Ok(())
}

fn pod(number: u64, version: u64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

/// Sends decoded events through an informer with many handlers.
fn fanout(handlers: u64, events: u64) -> Result<Value, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let seconds = runtime.block_on(async {
        let changes = (0..events).map(|turn| WatchEvent::Modified(pod(turn % OBJECTS, turn + 2))).collect();
        let changes: Arc<Mutex<Vec<WatchEvent<Pod>>>> = Arc::new(Mutex::new(changes));
        let begin = Arc::new(tokio::sync::Notify::new());
        let source = FromFns::new(
            |_| async {
                let items = (0..OBJECTS).map(|number| pod(number, 1)).collect();
                Ok(Page { items, version: Some(ResourceVersion::number(1)), continue_token: None })
            },
            {
                let (changes, begin) = (Arc::clone(&changes), Arc::clone(&begin));
                move |_| {
                    let (changes, begin) = (Arc::clone(&changes), Arc::clone(&begin));
                    async move {
                        let first = async move {
                            begin.notified().await;
                            let all = std::mem::take(&mut *changes.lock().unwrap_or_else(PoisonError::into_inner));
                            stream::iter(all.into_iter().map(Ok))
                        };
                        Ok(Watch::new(stream::once(first).flatten().chain(stream::pending())))
                    }
                }
            },
        );
        let informer = Informer::of(source.without_streaming_lists()).build().map_err(|error| error.to_string())?;
        let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
        for count in &counts {
            let (mut seen, count) = (0, Arc::clone(count));
            let handler = move |event: &Event<Pod>| {
                seen += u64::from(event.object().metadata.name.is_some());
                count.store(seen, Ordering::Relaxed);
            };
            let added = informer.add_handler_with(handler, Subscribe::new().policy(Policy::Unbounded));
            added.map_err(|error| error.to_string())?;
        }
        informer.start();
        all_counted(&counts, OBJECTS).await;
        let began = Instant::now();
        begin.notify_one();
        all_counted(&counts, OBJECTS + events).await;
        Ok::<_, String>(began.elapsed().as_secs_f64())
    })?;
    runtime.shutdown_background();
    Ok(json!({ "rate": events as f64 / seconds }))
}

async fn all_counted(counts: &[Arc<AtomicU64>], events: u64) {
    while counts.iter().any(|count| count.load(Ordering::Relaxed) < events) {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

/// Writes to a store while others list all of it, again and again.
fn readers_beside(readers: u64, milliseconds: u64) -> Value {
    let (store, mut writer) = Store::<Pod>::builder().build().expect("no index is given twice");
    (0..OBJECTS).for_each(|number| _ = writer.edit().insert(Arc::new(pod(number, 1))));
    // Made beforehand, so that the writer's time is the store's time.
    let pods: Vec<_> = (0..OBJECTS * 2).map(|turn| Arc::new(pod(turn * 7919 % OBJECTS, turn + 2))).collect();
    let (stop, lists) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..readers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    black_box(store.list());
                    lists.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let (began, mut writes) = (Instant::now(), 0);
        while began.elapsed() < Duration::from_millis(milliseconds) {
            // Each write is published on its own, as the peers' are.
            _ = writer.edit().insert(Arc::clone(&pods[writes % pods.len()]));
            writes += 1;
        }
        let seconds = began.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        json!({ "rate": writes as f64 / seconds, "lists": lists.load(Ordering::Relaxed) as f64 / seconds })
    })
}

/// Adds, takes and finishes items, one at a time.
fn queue(items: u64) -> Value {
    let (queue, began) = (Queue::<u64>::new(), Instant::now());
    for number in 0..items {
        queue.add(number);
        match pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(item)) => item.done(),
            Poll::Ready(None) | Poll::Pending => unreachable!("an item was just added"),
        }
    }
    json!({ "nanoseconds": began.elapsed().as_nanos() as f64 / items as f64 })
}

/// Adds items to a queue that already holds as many.
fn fill(items: u64) -> Value {
    let queue = Queue::<u64>::new();
    (0..items).for_each(|number| queue.add(number));
    let (began, added) = (Instant::now(), items / 10);
    (0..added).for_each(|number| queue.add(items + number));
    json!({ "nanoseconds": began.elapsed().as_nanos() as f64 / added as f64 })
}
