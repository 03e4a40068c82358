//! Adding and getting items concurrently.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use shuttle::future::yield_now;

use crate::{Queue, cancel_get, explore, join, task};

#[test]
fn no_wake_up_is_lost() {
    explore(|| {
        let queue = Queue::new();
        let workers = [(); 3].map(|()| task(&queue, async |queue| queue.get().await.is_some()));
        join([0, 1, 2].map(|item| task(&queue, async move |queue| queue.add(item))));
        assert_eq!(join(workers), [true; 3]);
    });
}

#[test]
fn a_cancelled_get_loses_neither_a_wake_up_nor_an_item() {
    explore(|| {
        let queue = Queue::new();
        let cancelled = [(); 2].map(|()| task(&queue, cancel_get));
        let worker = task(&queue, async |queue| queue.get().await.map(|item| *item));
        join([task(&queue, async |queue| queue.add(7))]);
        join(cancelled);
        assert_eq!(join([worker]), [Some(7)]);
    });
}

/// An object whose last version a worker must see after the last add of its key.
#[derive(Default)]
struct Object {
    version: AtomicU32,
    seen: AtomicU32,
    is_processing: AtomicBool,
}

#[test]
fn an_item_is_processed_by_one_worker_and_after_its_last_add() {
    explore(|| {
        let queue = Queue::new();
        let objects = Arc::new([Object::default(), Object::default()]);
        let workers = [(); 2].map(|()| {
            let objects = Arc::clone(&objects);
            task(&queue, async move |queue| {
                while let Some(key) = queue.get().await {
                    let object = &objects[*key];
                    assert!(!object.is_processing.swap(true, SeqCst), "two workers process the same item");
                    let version = object.version.load(SeqCst);
                    yield_now().await;
                    object.seen.store(version, SeqCst);
                    object.is_processing.store(false, SeqCst);
                }
            })
        });
        let producers = [0, 1].map(|_| {
            let objects = Arc::clone(&objects);
            task(&queue, async move |queue| {
                for key in [0, 1, 0] {
                    objects[key].version.fetch_add(1, SeqCst);
                    queue.add(key);
                }
            })
        });
        join(producers);
        queue.shut_down();
        join(workers);
        for object in objects.iter() {
            assert_eq!(object.seen.load(SeqCst), object.version.load(SeqCst));
        }
    });
}
