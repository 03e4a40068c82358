//! Waiting until the queue is idle.

use std::task::Poll;
use std::time::Duration;

use kube_workqueue::Queue;
use tokio::time::advance;

use crate::{poll_once, take};

#[tokio::test(start_paused = true)]
async fn idle_waits_for_ready_and_processed_items_but_not_for_delayed_ones() {
    let queue = Queue::new();
    assert_eq!(poll_once(queue.idle()), Poll::Ready(()));
    queue.add_after("later", Duration::from_secs(60));
    assert_eq!((queue.delayed(), poll_once(queue.idle())), (1, Poll::Ready(())));

    queue.add("now");
    assert_eq!(poll_once(queue.idle()), Poll::Pending, "ready");
    let item = take(&queue);
    assert_eq!((queue.processing(), poll_once(queue.idle())), (1, Poll::Pending), "being processed");
    queue.add("now");
    item.done();
    assert_eq!(poll_once(queue.idle()), Poll::Pending, "added again");
    take(&queue).done();
    assert_eq!(poll_once(queue.idle()), Poll::Ready(()));

    advance(Duration::from_secs(61)).await;
    assert_eq!(poll_once(queue.idle()), Poll::Pending, "the delayed item is due");
    assert_eq!((queue.len(), queue.delayed()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn all_idlers_are_woken_by_the_end_of_the_last_item() {
    let queue = Queue::new();
    queue.add("item");
    let idlers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.idle().await })
        })
        .collect();
    tokio::task::yield_now().await;
    let item = take(&queue);
    tokio::task::yield_now().await;
    assert!(idlers.iter().all(|idler| !idler.is_finished()));
    item.done();
    for idler in idlers {
        tokio::time::timeout(Duration::from_secs(1), idler).await.expect("woken").expect("no panic");
    }
}
