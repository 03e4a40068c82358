//! The cost of queue operations.

use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use divan::Bencher;
use kube_workqueue::{Fifo, Order, Priority, Processing, Queue};

const MILLION: u64 = 1_000_000;

fn main() {
    divan::main();
}

fn take<T: Clone + Eq + std::hash::Hash, O: Order>(queue: &Queue<T, O>) -> Processing<T, O> {
    match pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(item)) => item,
        Poll::Ready(None) | Poll::Pending => panic!("an item is ready"),
    }
}

/// Creates a queue with a million items.
fn filled<O: Order + Default>() -> Queue<u64, O> {
    let queue = Queue::default();
    (0..MILLION).for_each(|item| queue.add(item));
    queue
}

#[divan::bench(types = [Fifo, Priority])]
fn add_get_done<O: Order + Default + Send + 'static>(bencher: Bencher) {
    let queue = Queue::<u64, O>::default();
    bencher.bench_local(|| {
        queue.add(black_box(7));
        take(&queue).done();
    });
}

#[divan::bench(sample_size = 32)]
fn add_get_done_of_a_string(bencher: Bencher) {
    let queue = Queue::<std::sync::Arc<str>>::new();
    let key: std::sync::Arc<str> = "kube-system/coredns-5d78c9869d-abcde".into();
    bencher.bench_local(|| {
        queue.add(black_box(&key).clone());
        take(&queue).done();
    });
}

#[divan::bench]
fn add_get_done_with_metrics(bencher: Bencher) {
    let queue = Queue::builder().with_metrics().build();
    bencher.bench_local(|| {
        queue.add(black_box(7));
        take(&queue).done();
    });
}

#[divan::bench]
fn add_get_done_while_an_item_is_delayed(bencher: Bencher) {
    let queue = Queue::new();
    queue.add_after(0, Duration::from_secs(3600));
    bencher.bench_local(|| {
        queue.add(black_box(7));
        take(&queue).done();
    });
}

#[divan::bench(types = [Fifo, Priority], sample_count = 200, sample_size = 500)]
fn add_new_to_a_million<O: Order + Default + Send + 'static>(bencher: Bencher) {
    let queue = filled::<O>();
    let mut next = MILLION;
    bencher.bench_local(|| {
        next += 1;
        queue.add(black_box(next));
    });
}

#[divan::bench(types = [Fifo, Priority])]
fn add_known_to_a_million<O: Order + Default + Send + 'static>(bencher: Bencher) {
    let queue = filled::<O>();
    let mut next = 0;
    bencher.bench_local(|| {
        next = (next + 7919) % MILLION;
        queue.add(black_box(next));
    });
}

#[divan::bench(types = [Fifo, Priority], sample_count = 10, sample_size = 1)]
fn cycle_a_million<O: Order + Default + Send + 'static>(bencher: Bencher) {
    bencher.counter(MILLION).bench_local(|| {
        let queue = filled::<O>();
        (0..MILLION).for_each(|_| take(&queue).done());
    });
}

#[divan::bench(sample_count = 200, sample_size = 500)]
fn add_after_to_a_hundred_thousand(bencher: Bencher) {
    let queue = Queue::new();
    let delay = |item: u64| Duration::from_millis(1_000_000 + item.wrapping_mul(7919) % 100_000);
    (0..100_000).for_each(|item| queue.add_after(item, delay(item)));
    let mut next = 100_000;
    bencher.bench_local(|| {
        next += 1;
        queue.add_after(black_box(next), delay(next));
    });
}
