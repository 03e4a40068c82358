//! Each item is stored once, handed out to one worker at a time, and dropped when it is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use kube_workqueue::{Priority, Queue};

use crate::{poll_once, take, take_all};

// R151
#[test]
fn an_item_added_twice_is_queued_once() {
    let queue = Queue::new();
    ["foo", "bar", "foo"].into_iter().for_each(|item| queue.add(item));
    assert_eq!(queue.len(), 2);
    assert_eq!(take_all(&queue), ["foo", "bar"]);
    assert!(queue.is_empty());
}

// R151
#[test]
fn an_item_added_repeatedly_while_it_is_processed_is_queued_once() {
    let queue = Queue::new();
    queue.add("foo");
    let foo = take(&queue);
    for _ in 0..3 {
        queue.add("foo");
        assert_eq!(queue.len(), 0);
    }
    foo.done();
    assert_eq!(take_all(&queue), ["foo"]);
    assert!(queue.is_empty());
}

// R152
#[test]
fn an_item_added_while_it_is_processed_is_queued_when_it_is_done() {
    let queue = Queue::new();
    queue.add("foo");
    let foo = take(&queue);
    queue.add("foo");
    queue.add("bar");
    assert_eq!(*take(&queue), "bar");
    assert!(poll_once(queue.get()).is_pending());
    drop(foo);
    assert_eq!(*take(&queue), "foo");
}

// R152
#[test]
fn a_worker_that_panics_releases_its_item() {
    let queue = Queue::new();
    queue.add("foo");
    let worker = AssertUnwindSafe(|| {
        let foo = take(&queue);
        queue.add(*foo);
        panic!("while {} is processed", *foo);
    });
    assert!(catch_unwind(worker).is_err());
    assert_eq!(*take(&queue), "foo");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_worker_releases_its_item() {
    let queue = Queue::new();
    queue.add("foo");
    let worker = async {
        let _foo = queue.get().await;
        std::future::pending::<()>().await;
    };
    assert!(tokio::time::timeout(Duration::from_secs(1), worker).await.is_err());
    queue.add("foo");
    assert_eq!(*take(&queue), "foo");
}

// R154
#[test]
fn an_item_that_is_done_is_dropped() {
    let queue = Queue::<_, Priority>::default();
    let item = Arc::new("foo");
    queue.add(Arc::clone(&item));
    queue.add_rate_limited(Arc::clone(&item));
    drop(take(&queue));
    assert!(Arc::strong_count(&item) > 1, "it is delayed, and its failures are counted");
    queue.forget(&item);
    queue.shut_down();
    assert_eq!(Arc::strong_count(&item), 1);
}

// R154
#[test]
fn an_item_that_is_done_is_dropped_while_others_are_queued() {
    let queue = Queue::new();
    let items = ["a", "b", "c"].map(Arc::new);
    items.each_ref().into_iter().for_each(|item| queue.add(Arc::clone(item)));
    drop(take(&queue));
    assert_eq!(items.each_ref().map(Arc::strong_count), [1, 2, 2]);
}
