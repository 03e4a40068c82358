//! Shutting the queue down.

use std::task::Poll;
use std::time::Duration;

use kube_workqueue::Queue;
use tokio::time::{Instant, advance};

use crate::{poll_once, take};

fn has_ended(queue: &Queue<&'static str>) -> bool {
    matches!(poll_once(queue.get()), Poll::Ready(None))
}

// R153
#[test]
fn a_queue_that_is_shut_down_ignores_adds_and_hands_out_the_remaining_items() {
    let queue = Queue::new();
    queue.add("foo");
    queue.shut_down();
    queue.add("bar");
    queue.add_after("bar", Duration::from_millis(1));
    queue.add_rate_limited("bar");
    assert!(queue.is_shutting_down());
    assert_eq!(*take(&queue), "foo");
    assert!(has_ended(&queue));
}

// R153
#[tokio::test]
async fn every_worker_ends_at_shutdown() {
    let queue = Queue::<u32>::new();
    let workers: Vec<_> = (0..10)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut processed = 0;
                while queue.get().await.is_some() {
                    processed += 1;
                    tokio::task::yield_now().await;
                }
                processed
            })
        })
        .collect();
    for item in 0..100 {
        queue.add(item);
        tokio::task::yield_now().await;
    }
    queue.shut_down();
    let mut processed = 0;
    for worker in workers {
        processed += worker.await.expect("no worker panics");
    }
    assert_eq!(processed, 100);
}

// R153
#[tokio::test]
async fn a_drain_waits_for_items_that_are_processed() {
    let queue = Queue::new();
    ["foo", "bar"].into_iter().for_each(|item| queue.add(item));
    let (foo, bar) = (take(&queue), take(&queue));
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(queue.is_shutting_down());
    foo.done();
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    bar.done();
    drain.await.expect("the drain ends");
    assert!(has_ended(&queue));
}

// R153
#[tokio::test]
async fn a_drain_hands_out_items_that_were_added_again() {
    let queue = Queue::new();
    queue.add("foo");
    let foo = take(&queue);
    queue.add("foo");
    let drain = async {
        queue.shut_down_with_drain().await;
        assert!(queue.is_empty());
    };
    let worker = async {
        assert!(queue.is_shutting_down());
        queue.add("foo");
        assert!(!has_ended(&queue), "foo is handed out again");
        foo.done();
        assert_eq!(queue.get().await.as_deref(), Some(&"foo"));
        assert!(queue.get().await.is_none());
    };
    tokio::join!(drain, worker);
}

// R153
#[tokio::test]
async fn a_shutdown_ends_a_drain() {
    let queue = Queue::new();
    queue.add("foo");
    let foo = take(&queue);
    let drain = queue.shut_down_with_drain();
    let release = async { queue.shut_down() };
    tokio::join!(drain, release);
    foo.done();
}

// R153
#[test]
fn a_plain_shutdown_does_not_wait_for_items_that_are_processed() {
    let queue = Queue::new();
    queue.add("foo");
    let _foo = take(&queue);
    queue.shut_down();
    assert!(has_ended(&queue));
}

// R159
#[tokio::test(start_paused = true)]
async fn a_drain_drops_delayed_items_and_ends_immediately() {
    let queue = Queue::new();
    let start = Instant::now();
    queue.add_after("foo", Duration::from_secs(5));
    let worker = async { assert!(queue.get().await.is_none()) };
    tokio::join!(worker, queue.shut_down_with_drain());
    assert_eq!(start.elapsed(), Duration::ZERO);
    advance(Duration::from_secs(10)).await;
    assert!(has_ended(&queue));
}

// R159
#[tokio::test(start_paused = true)]
async fn a_drain_hands_out_items_that_are_due() {
    let queue = Queue::new();
    queue.add_after("due", Duration::from_secs(5));
    queue.add_after("not due", Duration::from_secs(6));
    advance(Duration::from_secs(5)).await;
    let worker = async {
        assert_eq!(queue.get().await.as_deref(), Some(&"due"));
        assert!(queue.get().await.is_none());
    };
    tokio::join!(queue.shut_down_with_drain(), worker);
}
