//! The handle of a controller.

use super::{
    error::ControllerEnded, history::KeyReport, outcome::Outcomes, reason::Reason, trigger::Handler,
    work::Work,
};
use futures_util::future::join_all;
use kube_informer_wire::Key;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// Observes and controls a controller; see [`Controller::handle`](super::Controller::handle).
///
/// It is cheap to clone, and does not keep the controller running.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, controller::{Action, Controller, ErrorPolicy}};
/// use std::sync::Arc;
///
/// async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
///     Ok(Action::await_change())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
/// let controller = Controller::new(&maps);
/// let handle = controller.handle();
/// let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::new(())));
///
/// handle.trigger("default/settings".parse()?)?;
/// handle.idle().await;
/// println!("{}", handle.explain(&"default/settings".parse()?).expect("triggered above"));
/// handle.stop();
/// running.await??;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ControllerHandle {
    pub(super) parts: Arc<HandleParts>,
}

/// The state that a controller and its handles share.
pub(super) struct HandleParts {
    pub(super) work: Arc<Work>,
    pub(super) stop: CancellationToken,
    /// Set when the controller runs.
    pub(super) running: tokio::sync::watch::Sender<RunState>,
    pub(super) handlers: Mutex<Vec<Arc<dyn Handler>>>,
    #[cfg(feature = "leases")]
    pub(super) leases: Mutex<Option<kube_leases::Leases>>,
}

/// The state of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// `run` was not called yet, or waits until the caches have synced. With `ready_when_acquired`, it also waits for a lease.
    #[default]
    Starting,
    /// It reconciles.
    Running,
    /// It has ended.
    Ended,
}

impl HandleParts {
    pub(super) fn new(work: Arc<Work>) -> Self {
        Self {
            work,
            stop: CancellationToken::new(),
            running: <_>::default(),
            handlers: Mutex::default(),
            #[cfg(feature = "leases")]
            leases: Mutex::default(),
        }
    }

    pub(super) fn remove_handlers(&self) {
        self.handlers().iter().for_each(|handler| handler.remove());
    }

    pub(super) fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ControllerHandle {
    /// Returns the name of the controller.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        self.parts.work.name()
    }

    /// Reconciles a key as soon as a worker is free, for example after a webhook. Before the controller runs, the key is queued.
    ///
    /// # Errors
    /// [`ControllerEnded`] after the controller has ended.
    pub fn trigger(&self, key: Key) -> Result<(), ControllerEnded> {
        if self.parts.work.has_ended() {
            return Err(ControllerEnded);
        }
        self.parts.work.add(key, Reason::Triggered);
        Ok(())
    }

    /// Waits until the controller runs, has received all changes of its caches, and no key is queued or being reconciled. Requeues
    /// and retries that are scheduled for later are not waited for. Returns at once after the controller has ended.
    pub async fn idle(&self) {
        let mut running = self.parts.running.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = running.wait_for(|state| *state != RunState::Starting).await;
        loop {
            let handlers = self.parts.handlers();
            join_all(handlers.iter().map(|handler| handler.caught_up())).await;
            self.parts.work.idle().await;
            let is_behind = handlers.iter().any(|handler| handler.is_behind());
            if (!is_behind && self.parts.work.is_idle()) || self.parts.work.has_ended() {
                return;
            }
        }
    }

    /// Returns the number of keys that are queued, without those that are being reconciled or scheduled for later.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.parts.work.depth()
    }

    /// Returns the number of keys that wait for a requeue or a retry.
    #[must_use]
    pub fn scheduled(&self) -> usize {
        self.parts.work.scheduled()
    }

    /// Returns the keys that are being reconciled.
    #[must_use]
    pub fn running(&self) -> Vec<Key> {
        self.parts.work.running()
    }

    /// Returns the outcomes of all reconciles from now on. It ends with the controller.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        Outcomes::new(self.parts.work.subscribe())
    }

    /// Explains why a key was or was not reconciled: its last events with the result of the predicate, the last outcomes, and
    /// the scheduled reconcile. `None` if there was no event and no reconcile of the key, or if it was long ago: the histories of the
    /// last 5,000 to 10,000 keys are stored.
    #[must_use]
    pub fn explain(&self, key: &Key) -> Option<KeyReport> {
        self.parts.work.report(key)
    }

    /// Returns the keys with a report, sorted.
    #[must_use]
    pub fn known_keys(&self) -> Vec<Key> {
        self.parts.work.known_keys()
    }

    /// Returns the shards of the [leases](super::Controller::leases) with their holders; empty without leases.
    #[cfg(feature = "leases")]
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    #[must_use]
    pub fn shards(&self) -> Vec<kube_leases::ShardStatus> {
        let leases = self.parts.leases.lock().unwrap_or_else(PoisonError::into_inner).clone();
        leases.map(|leases| leases.status().shards).unwrap_or_default()
    }

    /// Returns the state of the controller.
    #[must_use]
    pub fn state(&self) -> RunState {
        *self.parts.running.borrow()
    }

    /// Stops the controller: no further reconcile starts, and `run` returns when the running ones have finished.
    pub fn stop(&self) {
        self.parts.stop.cancel();
    }
}

impl fmt::Debug for ControllerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerHandle")
            .field("name", &self.name())
            .field("state", &self.state())
            .field("depth", &self.depth())
            .finish_non_exhaustive()
    }
}
