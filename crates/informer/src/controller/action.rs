//! The result of a successful reconcile.

use std::time::Duration;

/// The time of the next reconcile of a key after a success, and the result of an error policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    requeue_after: Option<Duration>,
}

impl Action {
    /// Reconciles the key again after this delay, or when it changes.
    #[must_use]
    #[doc(alias = "requeue_after")]
    pub const fn requeue(after: Duration) -> Self {
        Self { requeue_after: Some(after) }
    }

    /// Reconciles the key again when it changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self { requeue_after: None }
    }

    /// Returns the delay of [`requeue`](Self::requeue); `None` for [`await_change`](Self::await_change).
    #[must_use]
    pub const fn requeue_after(self) -> Option<Duration> {
        self.requeue_after
    }
}
