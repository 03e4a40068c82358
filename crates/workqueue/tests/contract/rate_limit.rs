//! Rate-limited items.

use std::time::Duration;

use kube_workqueue::Queue;
use kube_workqueue::limiter::Exponential;
use tokio::time::Instant;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// R156
#[tokio::test(start_paused = true)]
async fn delays_grow_until_the_item_is_forgotten() {
    let queue = Queue::builder().rate_limiter(Exponential::new(ms(1), ms(1000))).build();
    for wait in [1, 2, 4, 8, 16] {
        let start = Instant::now();
        queue.add_rate_limited("one");
        assert_eq!(queue.get().await.as_deref(), Some(&"one"));
        assert_eq!(start.elapsed(), ms(wait));
    }
    assert_eq!(queue.retries(&"one"), 5);
    queue.forget(&"one");
    assert_eq!(queue.retries(&"one"), 0);

    let start = Instant::now();
    queue.add_rate_limited("one");
    assert_eq!(queue.get().await.as_deref(), Some(&"one"));
    assert_eq!(start.elapsed(), ms(1));
}

#[tokio::test(start_paused = true)]
async fn items_are_limited_independently() {
    let queue = Queue::builder().rate_limiter(Exponential::new(ms(1), ms(1000))).build();
    for _ in 0..3 {
        queue.forget(&"two");
        queue.add_rate_limited("two");
    }
    queue.add_rate_limited("one");
    queue.add_rate_limited("one");
    assert_eq!((queue.retries(&"one"), queue.retries(&"two")), (2, 1));
}
