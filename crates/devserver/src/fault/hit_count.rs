//! Counts the effects of a fault, so that tests can wait for them.

use tokio::sync::watch;

/// A count that can be awaited.
#[derive(Debug)]
pub(crate) struct HitCount(watch::Sender<u64>);

impl HitCount {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    pub(crate) fn record_hit(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(crate) fn count(&self) -> u64 {
        *self.0.borrow()
    }

    pub(crate) async fn reached(&self, count: u64) {
        let mut follow = self.0.subscribe();
        follow.wait_for(|now| *now >= count).await.expect("the sender is borrowed, and so alive");
    }
}
