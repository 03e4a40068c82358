//! The leases of a controller.

use super::Controller;
use crate::controller::{error::ControllerError, leases::LeasePermits, trigger::Trigger};
use futures_util::future::pending;
use kube_core::Resource;
use std::{convert::Infallible, sync::Arc, sync::PoisonError, time::Duration};

/// The leases of a controller.
pub(super) struct Leased<K> {
    pub(super) permits: Arc<LeasePermits<K>>,
    pub(super) readiness: Readiness,
}

/// When a controller with leases has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// When its caches have synced.
    Caches,
    /// When it has acquired a lease.
    Acquired,
}

impl<K: Resource + Send + Sync + 'static> Controller<K> {
    /// Reconciles only keys whose lease this process holds: those of its shards, or all keys while it is the leader.
    ///
    /// No reconcile starts outside of a held lease. When a shard is gained, its keys are reconciled as soon as all informers of the
    /// controller have its objects. When it is to be released, its queued keys are dropped, the running reconciles have the drain
    /// timeout to end, and then the shard is released. If the lease cannot be renewed, they are dropped at the deadline. A reconcile
    /// is checked before each poll; see [`Shard::run_while_held`](kube_leases::Shard::run_while_held) for the exception.
    ///
    /// The informers may follow the same [`Leases`](kube_leases::Leases) value or a clone of it ([`shards`](crate::informer::InformerBuilder::shards),
    /// [`owned_by`](crate::informer::InformerBuilder::owned_by)), or cache all objects. Keys of other shards that are triggered or come from
    /// a stream are ignored. After [`run`](Self::run), stop the leases, so that a successor does not have to wait until they expire.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_devserver::DevServer;
    /// use kube_informer::{Informer, controller::{Action, Controller, ErrorPolicy}};
    /// use kube_leases::Leases;
    /// use std::sync::Arc;
    ///
    /// async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = DevServer::start();
    /// # let client = server.client();
    /// # let signal = std::future::ready(());
    /// let leases = Leases::shards("maps", 4).namespace("default").start(client.clone())?;
    /// let maps = Informer::<ConfigMap>::builder(client).shards(&leases).start()?;
    /// Controller::new(&maps)
    ///     .leases(&leases)
    ///     .shutdown_on(signal)
    ///     .run(reconcile, ErrorPolicy::default(), Arc::new(()))
    ///     .await?;
    /// leases.stop();
    /// leases.stopped().await;
    /// # Ok(()) }
    /// ```
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn leases(mut self, leases: &kube_leases::Leases) -> Self {
        let readiness = self.leases.take().map_or(Readiness::Caches, |leased| leased.readiness);
        self.leases =
            Some(Leased { permits: Arc::new(LeasePermits::new(leases, &self.informer)), readiness });
        *self.parts.leases.lock().unwrap_or_else(PoisonError::into_inner) = Some(leases.clone());
        self
    }

    /// Treats the controller as started, and thus as [ready](crate::manager), only after it has acquired a lease and synced its objects.
    /// By default a replica without a lease is ready, so that a rolling update does not wait for it. Call it after
    /// [`leases`](Self::leases).
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn ready_when_acquired(mut self) -> Self {
        if let Some(leased) = &mut self.leases {
            leased.readiness = Readiness::Acquired;
        }
        self
    }

    /// Sets the time that a new object waits before its first reconcile, if shards are divided by uid. The default is 6 s, zero disables it.
    ///
    /// An object that is deleted and created again usually moves to another shard, whose holder does not know that the key existed
    /// before. The holder of the deleted object ends its reconciles of the key within half of this time after it has seen the deletion;
    /// after that they are dropped. So they do not overlap with those of the new object, if the deletion reaches the one
    /// process no later than half of this time after the new object has reached the other. All replicas must have the same delay.
    ///
    /// Objects that are older than a minute by the local time of day do not wait, nor do objects while this process holds all shards, or if
    /// the deleted object belonged to it as well. It has no effect on a leader and on shards that are divided by namespace. Call it
    /// after [`leases`](Self::leases).
    #[cfg_attr(docsrs, doc(cfg(feature = "leases")))]
    pub fn recreation_delay(self, delay: Duration) -> Self {
        if let Some(leased) = &self.leases {
            leased.permits.set_recreation_delay(delay);
        }
        self
    }

    pub(super) fn is_ready_with_caches(&self) -> bool {
        self.leases.as_ref().is_none_or(|leased| leased.readiness == Readiness::Caches)
    }

    /// Enqueues and drops keys as shards are gained and lost, until the leases are stopped.
    pub(super) fn follow_leases(
        &self,
        triggers: &[Arc<dyn Trigger>],
    ) -> impl Future<Output = Infallible> + Send + use<K> {
        let permits = self.leases.as_ref().map(|leased| Arc::clone(&leased.permits));
        let parts = Arc::clone(&self.parts);
        let triggers = triggers.to_vec();
        async move {
            if let Some(permits) = permits {
                permits.follow(&parts, &triggers).await;
            }
            pending().await
        }
    }

    /// Checks that informers that follow leases follow those of the controller.
    pub(super) fn check_leases(&self, triggers: &[Arc<dyn Trigger>]) -> Result<(), ControllerError> {
        let own = self.leases.as_ref().map(|leased| leased.permits.leases());
        for trigger in triggers {
            let Some(followed) = trigger.leases() else { continue };
            if own.is_none_or(|own| !own.is_same(followed)) {
                let describe =
                    |leases: &kube_leases::Leases| format!("{} of {}", leases.name(), leases.identity());
                return Err(ControllerError::DifferentLeases {
                    informer: trigger.name().to_owned(),
                    followed: describe(followed),
                    leases: own.map(describe),
                });
            }
        }
        Ok(())
    }
}
