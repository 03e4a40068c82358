//! Adding items after a delay.

use std::time::Duration;

use kube_workqueue::Queue;
use tokio::time::{Instant, advance};

use crate::{take, take_all};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// R155
#[tokio::test(start_paused = true)]
async fn an_item_is_ready_after_its_delay_and_not_before() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    advance(ms(49)).await;
    assert!(queue.is_empty());
    advance(ms(1)).await;
    assert_eq!(queue.len(), 1, "even if no worker waits");
    assert_eq!(take_all(&queue), ["foo"]);
    advance(ms(10_000)).await;
    assert!(queue.is_empty());
}

// R155
#[tokio::test(start_paused = true)]
async fn an_item_without_a_delay_is_ready_immediately() {
    let queue = Queue::new();
    queue.add_after("foo", Duration::ZERO);
    assert_eq!(take_all(&queue), ["foo"]);
}

// R155
#[tokio::test(start_paused = true)]
async fn the_earliest_due_time_is_used() {
    for delays in [[50, 70], [70, 50]] {
        let queue = Queue::new();
        delays.into_iter().for_each(|delay| queue.add_after("foo", ms(delay)));
        advance(ms(50)).await;
        assert_eq!(take_all(&queue), ["foo"]);
        advance(ms(20)).await;
        assert!(queue.is_empty());
    }
}

// R155
#[tokio::test(start_paused = true)]
async fn items_are_handed_out_in_the_order_of_their_due_times() {
    let queue = Queue::new();
    for (item, delay) in [("first", 1), ("third", 3), ("fourth", 3), ("second", 2)] {
        queue.add_after(item, ms(delay));
    }
    advance(ms(3)).await;
    queue.add("fifth");
    assert_eq!(take_all(&queue), ["first", "second", "third", "fourth", "fifth"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_gets_each_item_when_it_is_due() {
    let queue = Queue::new();
    let start = Instant::now();
    queue.add_after(30, ms(30));
    let worker = async {
        for expected in [10_u64, 20, 30] {
            let item = queue.get().await.expect("the queue is open");
            assert_eq!((*item, start.elapsed()), (expected, ms(expected)));
        }
    };
    let producer = async {
        queue.add_after(20, ms(20));
        queue.add_after(10, ms(10));
    };
    tokio::join!(worker, producer);
}

#[tokio::test(start_paused = true)]
async fn another_worker_sets_the_timer_when_its_owner_is_cancelled() {
    let queue = Queue::new();
    let start = Instant::now();
    queue.add_after("late", ms(50));
    let cancelled = async { tokio::time::timeout(ms(10), queue.get()).await.is_err() };
    let waiting = async { queue.get().await.map(|item| (*item, start.elapsed())) };
    assert_eq!(tokio::join!(cancelled, waiting), (true, Some(("late", ms(50)))));
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_independent_of_an_add() {
    let queue = Queue::new();
    queue.add_after("foo", ms(50));
    queue.add("foo");
    let foo = take(&queue);
    advance(ms(50)).await;
    assert!(queue.is_empty(), "it is due while it is processed");
    foo.done();
    assert_eq!(take_all(&queue), ["foo"]);
}

#[tokio::test(start_paused = true)]
async fn the_maximum_delay_does_not_overflow() {
    let queue = Queue::new();
    queue.add_after("foo", Duration::MAX);
    advance(ms(1000)).await;
    assert!(queue.is_empty());
}
