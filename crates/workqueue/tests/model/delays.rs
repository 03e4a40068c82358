//! Waiting for delayed items, with a clock that nobody but the waiting watch.

use std::time::Duration;

use crate::{Queue, explore, give_up, join, task};

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
fn the_clock_is_watched_when_its_watcher_gives_up_or_gets_other_work() {
    explore(|| {
        let queue = Queue::new();
        let others = [task(&queue, give_up), task(&queue, give_up)];
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
fn the_clock_is_watched_again_after_a_time_without_delays() {
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
