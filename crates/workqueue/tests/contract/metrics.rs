//! The metrics of the queue.

use std::time::Duration;

use kube_workqueue::{Histogram, Metrics, Queue};
use tokio::time::advance;

use crate::take;

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn snapshot(queue: &Queue<&'static str>) -> Metrics {
    queue.metrics().expect("metrics are on")
}

fn count_and_sum(histogram: &Histogram) -> (u64, Duration) {
    (histogram.count(), histogram.sum())
}

// R158
#[tokio::test(start_paused = true)]
async fn metrics_count_an_item_at_each_stage_of_the_queue() {
    let queue = Queue::builder().with_metrics().build();
    queue.add("foo");
    assert_eq!((snapshot(&queue).adds, snapshot(&queue).depth), (1, 1));

    advance(us(50)).await;
    let foo = take(&queue);
    assert_eq!(snapshot(&queue).depth, 0);
    assert_eq!(count_and_sum(&snapshot(&queue).queue_duration), (1, us(50)));

    (0..5).for_each(|_| queue.add("foo"));
    assert_eq!((snapshot(&queue).adds, snapshot(&queue).depth), (2, 1));

    advance(us(25)).await;
    foo.done();
    assert_eq!(count_and_sum(&snapshot(&queue).work_duration), (1, us(25)));

    advance(us(25)).await;
    let _foo = take(&queue);
    assert_eq!(count_and_sum(&snapshot(&queue).queue_duration), (2, us(100)));
    advance(us(1000)).await;
    let last = snapshot(&queue);
    assert_eq!((last.depth, last.unfinished_work, last.longest_running), (0, us(1000), us(1000)));
}

// R158
#[tokio::test(start_paused = true)]
async fn unfinished_work_is_the_sum_and_longest_running_the_maximum() {
    let queue = Queue::builder().with_metrics().build();
    ["foo", "bar"].into_iter().for_each(|item| queue.add(item));
    let _foo = take(&queue);
    advance(us(10)).await;
    let _bar = take(&queue);
    advance(us(5)).await;
    let metrics = snapshot(&queue);
    assert_eq!((metrics.unfinished_work, metrics.longest_running), (us(20), us(15)));
}

// R158
#[tokio::test(start_paused = true)]
async fn delayed_adds_count_as_retries_and_as_adds_when_due() {
    let queue = Queue::builder().with_metrics().build();
    queue.add_after("foo", us(1000));
    queue.add_after("bar", Duration::ZERO);
    assert_eq!((snapshot(&queue).retries, snapshot(&queue).adds), (2, 1));
    advance(us(1000)).await;
    assert_eq!((snapshot(&queue).retries, snapshot(&queue).adds), (2, 2));
}

// R158
#[tokio::test(start_paused = true)]
async fn metrics_do_not_change_after_shutdown() {
    let queue = Queue::builder().with_metrics().build();
    ["foo", "bar"].into_iter().for_each(|item| queue.add(item));
    let foo = take(&queue);
    queue.shut_down();
    let before = format!("{:?}", snapshot(&queue));
    advance(us(1000)).await;
    foo.done();
    queue.add("baz");
    take(&queue).done();
    assert_eq!(format!("{:?}", snapshot(&queue)), before);
}

#[test]
fn a_queue_without_metrics_has_none() {
    assert!(Queue::<u32>::new().metrics().is_none());
}
