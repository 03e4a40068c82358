//! The results of reconciles, for tests and for diagnosis.

use super::{action::Action, reason::Reason};
use futures_core::Stream;
use futures_util::stream;
use kube_informer_wire::Key;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    time::Instant,
};

/// A finished reconcile.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The key.
    pub key: Key,
    /// Why it was reconciled.
    pub reason: Reason,
    /// The number of the attempt: 1, and one more after each failure in a row.
    pub attempt: u32,
    /// When the reconcile started.
    pub started: Instant,
    /// The duration of the reconcile.
    pub duration: Duration,
    /// The result.
    pub result: ReconcileResult,
    /// The delay until the next reconcile without an event; `None` if there will be none. A retry may take longer because of
    /// the rate limit of all retries.
    pub next: Option<Duration>,
}

/// The result of a reconcile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReconcileResult {
    /// The reconcile function returned this action.
    Succeeded(Action),
    /// The reconcile function returned an error: its text, followed by those of its causes.
    Failed(Arc<str>),
    /// The reconcile function panicked, with this message.
    Panicked(Arc<str>),
    /// The object was deleted before the reconcile, so the function was not called.
    Gone,
}

impl Outcome {
    /// Returns true unless the reconcile failed or panicked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self.result, ReconcileResult::Succeeded(_) | ReconcileResult::Gone)
    }

    /// Returns the error text of a failed reconcile, or the message of a panic.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match &self.result {
            ReconcileResult::Failed(text) | ReconcileResult::Panicked(text) => Some(text),
            ReconcileResult::Succeeded(_) | ReconcileResult::Gone => None,
        }
    }
}

impl fmt::Display for ReconcileResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded(_) => f.write_str("succeeded"),
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::Gone => f.write_str("object is gone"),
        }
    }
}

/// Receives the outcomes of a controller, from the call of [`outcomes`](super::ControllerHandle::outcomes) on.
///
/// A receiver that falls behind by more than 1,024 outcomes misses the oldest ones; [`missed`](Self::missed) counts them.
#[derive(Debug)]
pub struct Outcomes {
    receiver: broadcast::Receiver<Outcome>,
    missed: u64,
}

/// The maximum number of outcomes that a receiver is behind.
pub(super) const MAX_BEHIND: usize = 1024;

impl Outcomes {
    pub(super) fn new(receiver: broadcast::Receiver<Outcome>) -> Self {
        Self { receiver, missed: 0 }
    }

    /// Returns the next outcome; `None` after the controller has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no outcome is lost.
    pub async fn next(&mut self) -> Option<Outcome> {
        loop {
            match self.receiver.recv().await {
                Ok(outcome) => return Some(outcome),
                Err(RecvError::Lagged(count)) => self.missed += count,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Returns the number of outcomes that were missed.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Converts this to a stream.
    pub fn into_stream(self) -> impl Stream<Item = Outcome> + Send {
        stream::unfold(self, |mut outcomes| async move {
            let next = outcomes.next().await?;
            Some((next, outcomes))
        })
    }
}
