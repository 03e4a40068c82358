//! Waiting for delayed items.

use std::time::Duration;

use crate::{Queue, cancel_get, explore, join, task};

fn secs(seconds: usize) -> Duration {
    Duration::from_secs(seconds as u64)
}

#[test]
fn every_delayed_item_reaches_a_waiting_worker() {
    explore(|| {
        let queue = Queue::new();
        let workers = [(); 3].map(|()| task(&queue, async |queue| queue.get().await.is_some()));
        join([3, 1, 2].map(|item| task(&queue, async move |queue| queue.add_after(item, secs(item)))));
        assert_eq!(join(workers), [true; 3]);
    });
}

#[test]
fn another_worker_sets_the_timer_when_its_owner_is_cancelled_or_gets_an_item() {
    explore(|| {
        let queue = Queue::new();
        let others = [task(&queue, cancel_get), task(&queue, cancel_get)];
        let workers = [(); 2].map(|()| task(&queue, async |queue| queue.get().await.is_some()));
        let producers = [
            task(&queue, async |queue| queue.add_after(9, secs(9))),
            task(&queue, async |queue| queue.add(0)),
        ];
        join(producers);
        join(others);
        assert_eq!(join(workers), [true; 2]);
    });
}

#[test]
fn the_timer_is_set_again_after_there_were_no_delayed_items() {
    explore(|| {
        let queue = Queue::new();
        let workers = [(); 3].map(|()| task(&queue, async |queue| queue.get().await.is_some()));
        let producer = task(&queue, async |queue| {
            for item in 1..=3 {
                queue.add_after(item, secs(item));
                shuttle::future::yield_now().await;
                queue.len();
            }
        });
        join([producer]);
        assert_eq!(join(workers), [true; 3]);
    });
}
