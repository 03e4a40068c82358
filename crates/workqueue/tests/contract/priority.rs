//! Priorities.

use std::time::Duration;

use kube_workqueue::{Priority, Queue};
use tokio::time::advance;

use crate::{take, take_all};

fn queue() -> Queue<&'static str, Priority> {
    Queue::default()
}

#[test]
fn hands_out_the_highest_priority_first_and_equal_ones_in_order() {
    let queue = queue();
    for (item, priority) in [("c", 0), ("e", -100), ("a", 7), ("d", 0), ("b", 7)] {
        queue.at_priority(priority).add(item);
    }
    assert_eq!(take_all(&queue), ["a", "b", "c", "d", "e"]);
}

#[test]
fn adding_again_raises_the_priority_and_never_lowers_it() {
    let queue = queue();
    ["a", "b"].into_iter().for_each(|item| queue.add(item));
    queue.at_priority(1).add("b");
    queue.at_priority(-1).add("b");
    queue.add("b");
    let b = take(&queue);
    assert_eq!((*b, b.priority()), ("b", 1));
    assert_eq!(take_all(&queue), ["a"]);
}

#[test]
fn an_item_added_while_it_is_processed_gets_the_highest_priority() {
    let queue = queue();
    queue.at_priority(9).add("a");
    let first = take(&queue);
    [1, 5, 3].into_iter().for_each(|priority| queue.at_priority(priority).add("a"));
    first.done();
    assert_eq!(take(&queue).priority(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_item_keeps_its_priority() {
    let queue = queue();
    let second = Duration::from_secs(1);
    queue.at_priority(5).add_after("a", 2 * second);
    queue.at_priority(1).add_after("a", second);
    queue.at_priority(2).add_rate_limited("b");
    queue.at_priority(4).add("c");
    advance(second).await;
    assert_eq!(take_all(&queue), ["a", "c", "b"]);
}

#[test]
fn patience_prevents_starvation_of_a_low_priority() {
    let queue = Queue::builder().order(Priority::with_patience(2)).build();
    queue.at_priority(-100).add(0);
    let busy = (1..1000).find(|item| {
        queue.add(*item);
        *take(&queue) == 0
    });
    assert!(busy.is_some_and(|overtaken| overtaken <= 201));
}
