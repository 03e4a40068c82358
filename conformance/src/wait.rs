//! Waits for a condition with a timeout.

use std::time::Duration;
use tokio::time::{Instant, interval, timeout};

/// The timeout, much longer than any wait of a passing test.
pub const LIMIT: Duration = Duration::from_secs(45);

/// The interval in which a condition is checked.
const POLL: Duration = Duration::from_millis(20);

/// Waits until `look` returns the expected value, and prints its last value after the timeout.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + LIMIT;
    let mut pace = interval(POLL);
    loop {
        match look().await {
            Ok(found) => return found,
            Err(instead) => assert!(Instant::now() < deadline, "{what} did not come about: {instead}"),
        }
        pace.tick().await;
    }
}

/// Waits for a future with the timeout.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what} did not end within {LIMIT:?}"))
}

/// Runs a test with a timeout.
pub async fn whole_test(test: impl Future<Output = ()>) {
    timeout(4 * LIMIT, test).await.expect("a test ends");
}
