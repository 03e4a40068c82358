//! The delays of each limiter, as listed in rules R156 and R157.

use std::sync::Arc;
use std::time::Duration;

use super::{Bucket, Exponential, FastSlow, MaxOf, MaxWait, RateLimiter, default_controller};
use crate::sync::{Instant, now};

const ITEM: &str = "one";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Counts a failure of `ITEM` for each expected delay, all at the same time.
fn check(limiter: &mut impl RateLimiter<&'static str>, waits: impl IntoIterator<Item = u64>) {
    check_at(now(), limiter, waits);
}

fn check_at(at: Instant, limiter: &mut impl RateLimiter<&'static str>, waits: impl IntoIterator<Item = u64>) {
    for wait in waits {
        assert_eq!(limiter.when(&ITEM, at), ms(wait));
    }
}

fn seconds_after(start: Instant, seconds: f64) -> Instant {
    start + Duration::from_secs_f64(seconds)
}

// R156
#[test]
fn exponential_doubles_until_forgotten() {
    let mut limiter = Exponential::new(ms(1), Duration::from_secs(1));
    check(&mut limiter, [1, 2, 4, 8, 16]);
    assert_eq!(limiter.retries(&ITEM), 5);
    assert_eq!(limiter.when(&"two", now()), ms(1));
    limiter.forget(&ITEM);
    assert_eq!(limiter.retries(&ITEM), 0);
    check(&mut limiter, [1]);
}

// R156
#[test]
fn exponential_stops_at_its_maximum_however_often_an_item_fails() {
    let mut limiter = Exponential::new(ms(1), Duration::from_secs(1000));
    let last = (0..5000).map(|_| limiter.when(&ITEM, now())).last();
    assert_eq!(last, Some(Duration::from_secs(1000)));

    let mut unlimited = Exponential::new(ms(1), Duration::MAX);
    let last = (0..5000).map(|_| unlimited.when(&ITEM, now())).last();
    assert_eq!(last, Some(Duration::MAX));

    let mut never = Exponential::new(Duration::ZERO, Duration::from_secs(1));
    check(&mut never, [0; 2000]);
}

// R157
#[test]
fn fast_slow_slows_down_after_its_fast_attempts() {
    let mut limiter = FastSlow::new(ms(5), Duration::from_secs(10), 3);
    check(&mut limiter, [5, 5, 5, 10_000, 10_000]);
    assert_eq!(limiter.retries(&ITEM), 5);
    limiter.forget(&ITEM);
    check(&mut limiter, [5]);
}

// R157
#[test]
fn max_of_returns_the_longest_delay_and_the_most_retries() {
    let fast_slow = FastSlow::new(ms(5), Duration::from_secs(3), 3);
    let exponential = Exponential::new(ms(1), Duration::from_secs(1));
    let mut limiter = MaxOf::new(MaxOf::new(fast_slow, exponential), Bucket::new(1000.0, 1000));
    check(&mut limiter, [5, 5, 5, 3000, 3000]);
    assert_eq!(limiter.retries(&ITEM), 5);
    limiter.forget(&ITEM);
    assert_eq!(limiter.retries(&ITEM), 0);
}

// R157
#[test]
fn max_wait_caps_the_delay() {
    let mut limiter = MaxWait::new(FastSlow::new(ms(5), Duration::from_secs(3), 3), ms(500));
    check(&mut limiter, [5, 5, 5, 500, 500]);
    assert_eq!(RateLimiter::retries(&limiter, &ITEM), 5);
}

#[test]
fn bucket_allows_its_burst_and_then_its_rate() {
    let mut limiter = Bucket::new(10.0, 3);
    let start = now();
    check_at(start, &mut limiter, [0, 0, 0, 100, 200]);
    check_at(seconds_after(start, 0.25), &mut limiter, [50]);
    assert_eq!(limiter.when(&ITEM, seconds_after(start, 60.0)), Duration::ZERO);
}

#[test]
fn bucket_without_a_rate_never_refills_and_without_a_limit_never_waits() {
    let mut closed = Bucket::new(0.0, 1);
    check(&mut closed, [0]);
    assert_eq!(closed.when(&ITEM, now()), Duration::MAX);
    check(&mut Bucket::new(f64::INFINITY, 0), [0; 3]);
}

#[test]
fn the_default_controller_backs_off_and_then_queues_at_ten_a_second() {
    let mut limiter = default_controller();
    let at = now();
    check_at(at, &mut limiter, [5, 10, 20]);
    let last = (0..98).map(|i| limiter.when(&["a", "b", "c"][i % 3], at)).min();
    assert!(last >= Some(ms(5)));
    assert_eq!(limiter.when(&"fresh", at), ms(200));
}

// R154
#[test]
fn a_forgotten_item_is_dropped() {
    let item = Arc::new("name");
    let mut limiter = default_controller();
    limiter.when(&item, now());
    assert_eq!(Arc::strong_count(&item), 2);
    limiter.forget(&item);
    assert_eq!(Arc::strong_count(&item), 1);
}
