//! Waiting for what a real server does in its own time: for a condition, with a deadline.

use std::time::Duration;
use tokio::time::{Instant, interval, timeout};

/// Far more than anything here takes; a test that waits this long has failed.
pub const LIMIT: Duration = Duration::from_secs(45);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// Waits until `look` finds what is wanted; what it found instead is shown when it does not come.
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

/// Waits for something that has to end.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what} did not end within {LIMIT:?}"))
}

/// Runs a test that has to end, however much it waits for.
pub async fn whole_test(test: impl Future<Output = ()>) {
    timeout(2 * LIMIT, test).await.expect("a test ends");
}
