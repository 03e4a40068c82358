//! Pauses a controller, for example while another replica is the leader.

use std::sync::Arc;
use tokio::sync::watch;

/// Pauses and resumes a controller; see [`Controller::gate`](super::Controller::gate).
///
/// While the gate is closed, no reconcile starts, and keys stay in the queue. Closing it drops the futures of the running
/// reconciles at their next await point; their keys are reconciled again after it is opened. Leader election closes it when a
/// lease is lost. The handle is cheap to clone, and one gate can serve several controllers.
///
/// ```
/// use kube_informer::controller::Gate;
///
/// let gate = Gate::closed();
/// assert!(!gate.is_open());
/// gate.open(); // this replica became the leader
/// assert!(gate.is_open());
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "leader")]
pub struct Gate {
    is_open: Arc<watch::Sender<bool>>,
}

impl Gate {
    /// Creates a gate that is open.
    #[must_use]
    pub fn opened() -> Self {
        Self { is_open: Arc::new(watch::Sender::new(true)) }
    }

    /// Creates a gate that is closed.
    #[must_use]
    pub fn closed() -> Self {
        Self { is_open: Arc::new(watch::Sender::new(false)) }
    }

    /// Opens the gate: reconciles start.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// Closes the gate: no reconcile starts, and the running ones are dropped.
    pub fn close(&self) {
        self.is_open.send_replace(false);
    }

    /// Returns true if the gate is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self.is_open.borrow()
    }

    /// Waits until the gate is open.
    pub async fn wait_until_open(&self) {
        self.wait_until(true).await;
    }

    /// Waits until the gate is closed.
    pub async fn wait_until_closed(&self) {
        self.wait_until(false).await;
    }

    async fn wait_until(&self, state: bool) {
        let mut receiver = self.is_open.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = receiver.wait_for(|is_open| *is_open == state).await;
    }
}
