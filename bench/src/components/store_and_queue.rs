//! The store with concurrent readers, and the work queue.

use super::source::{OBJECTS, pod};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::cache::Store;
use kube_workqueue::Queue;
use serde_json::{Value, json};
use std::{
    hint::black_box,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// Writes to a store while threads list it repeatedly.
pub(super) fn readers(readers: u64, milliseconds: u64) -> Value {
    let (store, mut writer) = Store::<Pod>::builder().build().expect("no index is given twice");
    (0..OBJECTS).for_each(|number| _ = writer.insert(Arc::new(pod(number, 1))));
    // Created in advance, so that only the store is measured.
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
            // Each write is visible to the next read, as in the other projects.
            _ = writer.insert(Arc::clone(&pods[writes % pods.len()]));
            writes += 1;
        }
        let seconds = began.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        json!({ "rate": writes as f64 / seconds, "lists": lists.load(Ordering::Relaxed) as f64 / seconds })
    })
}

/// Adds, gets and finishes items, one at a time.
pub(super) fn queue(items: u64) -> Value {
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

/// Adds items to a queue that already has many.
pub(super) fn fill(items: u64) -> Value {
    let queue = Queue::<u64>::new();
    (0..items).for_each(|number| queue.add(number));
    let (began, added) = (Instant::now(), items / 10);
    (0..added).for_each(|number| queue.add(items + number));
    json!({ "nanoseconds": began.elapsed().as_nanos() as f64 / added as f64 })
}
