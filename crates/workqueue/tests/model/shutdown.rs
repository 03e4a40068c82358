//! Shutting the queue down while other tasks use it.

use crate::{Queue, explore, join, task};
use shuttle::future::yield_now;

async fn work(queue: Queue) -> usize {
    let mut rounds = 0;
    while let Some(item) = queue.get().await {
        rounds += 1;
        yield_now().await;
        item.done();
    }
    rounds
}

#[test]
fn shutdown_ends_all_workers_and_drains() {
    explore(|| {
        let queue = Queue::new();
        queue.add(0);
        let held = shuttle::future::block_on(queue.get());
        queue.add_after(1, std::time::Duration::from_secs(1));
        let workers = [(); 3].map(|()| task(&queue, work));
        let drains = [(); 2].map(|()| task(&queue, async |queue| queue.shut_down_with_drain().await));
        let shutdown = task(&queue, async |queue| {
            while !queue.is_shutting_down() {
                yield_now().await;
            }
            drop(held);
        });
        join(drains);
        join([shutdown]);
        join(workers);
    });
}

#[test]
fn shutdown_ends_a_drain() {
    explore(|| {
        let queue = Queue::new();
        queue.add(0);
        let held = shuttle::future::block_on(queue.get());
        let drain = task(&queue, async |queue| queue.shut_down_with_drain().await);
        let shutdown = task(&queue, async |queue| {
            while !queue.is_shutting_down() {
                yield_now().await;
            }
            queue.shut_down();
        });
        join([drain, shutdown]);
        drop(held);
    });
}

#[test]
fn a_drain_ends_after_the_last_item() {
    explore(|| {
        let queue = Queue::new();
        queue.add(0);
        let held = shuttle::future::block_on(queue.get());
        queue.add(0);
        queue.add(1);
        let workers = [(); 2].map(|()| task(&queue, work));
        let drain = task(&queue, async |queue| {
            queue.shut_down_with_drain().await;
            assert!(queue.is_empty());
        });
        drop(held);
        join([drain]);
        assert_eq!(join(workers).iter().sum::<usize>(), 2);
    });
}
