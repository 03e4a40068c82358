//! The informers whose events add keys to the queue.

use super::{
    error::ControllerError,
    history::EventReport,
    owner::GroupKind,
    predicates::Predicate,
    reason::{Reason, RelatedObject},
    work::Work,
};
use crate::{
    boxed::BoxFuture,
    event::{Event, Phase},
    informer::{Informer, InformerStatus, SyncError},
    subscription::{AddHandlerError, Registration, SubscribeOptions},
};
use futures_util::FutureExt;
use kube_core::Resource;
use kube_informer_wire::Key;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use tokio::time::Instant;

/// An informer whose events add keys to the queue.
pub(super) trait Trigger: Send + Sync {
    /// Returns the name of the informer.
    fn name(&self) -> &str;
    /// Returns the status of the informer.
    fn status(&self) -> InformerStatus;
    /// Returns true if the informer was started.
    fn has_started(&self) -> bool;
    /// Returns the leases that the informer follows, if any.
    #[cfg(feature = "leases")]
    fn leases(&self) -> Option<&kube_leases::Leases>;
    /// Waits until the cache is complete, or cannot be.
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;
    /// Waits until the cache is complete, also after the server has refused the list. `None` if the informer was stopped.
    fn synced_eventually(&self) -> BoxFuture<'static, Option<InformerStatus>>;
    /// Waits until the cache has the objects of a held shard. Does not return if the shard is lost before.
    #[cfg(feature = "leases")]
    fn synced_shard(&self, shard: kube_leases::Shard) -> BoxFuture<'static, ()>;
    /// Adds the handler that feeds the queue.
    fn add_handler(&self, work: &Arc<Work>) -> Result<Box<dyn Handler>, AddHandlerError>;
}

/// A handler that feeds the queue.
pub(super) trait Handler: Send + Sync {
    fn remove(&self);
    fn removed(&self) -> BoxFuture<'static, ()>;
    fn caught_up(&self) -> BoxFuture<'static, ()>;
    fn is_behind(&self) -> bool;
}

impl<K: Send + Sync + 'static> Handler for Registration<K> {
    fn remove(&self) {
        Self::remove(self);
    }

    fn removed(&self) -> BoxFuture<'static, ()> {
        let registration = self.clone();
        async move { registration.removed().await }.boxed()
    }

    fn caught_up(&self) -> BoxFuture<'static, ()> {
        let registration = self.clone();
        async move { registration.caught_up().await }.boxed()
    }

    fn is_behind(&self) -> bool {
        !self.is_closed() && self.depth() > 0
    }
}

/// Calls the second argument with each key to reconcile.
pub(super) type Mapper<K> = dyn Fn(&K, &mut dyn FnMut(Key)) + Send + Sync;

/// An informer with the predicate and the mapper of its events.
pub(super) struct InformerTrigger<K> {
    pub(super) informer: Informer<K>,
    pub(super) predicate: Arc<dyn Predicate<K>>,
    pub(super) mapper: Arc<Mapper<K>>,
    pub(super) relation: Relation,
}

/// The relation of the objects of an informer to the reconciled keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The objects are reconciled themselves.
    Primary,
    /// The objects are mapped to other keys.
    Related,
}

impl<K: Resource + Send + Sync + 'static> Trigger for InformerTrigger<K> {
    fn name(&self) -> &str {
        self.informer.name()
    }

    fn status(&self) -> InformerStatus {
        self.informer.status()
    }

    fn has_started(&self) -> bool {
        self.informer.has_started()
    }

    #[cfg(feature = "leases")]
    fn leases(&self) -> Option<&kube_leases::Leases> {
        self.informer.leases()
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        self.informer.synced().boxed()
    }

    fn synced_eventually(&self) -> BoxFuture<'static, Option<InformerStatus>> {
        let mut status = self.informer.watch_status();
        async move { status.wait_for(|status| status.times.synced.is_some()).await }.boxed()
    }

    #[cfg(feature = "leases")]
    fn synced_shard(&self, shard: kube_leases::Shard) -> BoxFuture<'static, ()> {
        let informer = self.informer.clone();
        async move {
            // After a stop of the informer, the controller ends.
            let _ = informer.synced_shard(&shard).await;
        }
        .boxed()
    }

    fn add_handler(&self, work: &Arc<Work>) -> Result<Box<dyn Handler>, AddHandlerError> {
        let name = work.name();
        let queue = EventQueue {
            informer: self.informer.name().into(),
            predicate: Arc::clone(&self.predicate),
            mapper: Arc::clone(&self.mapper),
            relation: self.relation,
            work: Arc::clone(work),
        };
        // The name is a label of metrics: the name of the controller, not of a Rust type.
        let options = SubscribeOptions::new().named(&*name);
        let handler = move |event: &Event<K>| queue.handle(event);
        Ok(Box::new(self.informer.add_handler_with(handler, options)?))
    }
}

/// Adds the keys of events to the queue.
struct EventQueue<K> {
    informer: Arc<str>,
    predicate: Arc<dyn Predicate<K>>,
    mapper: Arc<Mapper<K>>,
    relation: Relation,
    work: Arc<Work>,
}

impl<K: Resource + 'static> EventQueue<K> {
    fn handle(&self, event: &Event<K>) {
        if let Event::Released { key, .. } = event {
            // The object is not deleted: another process reconciles it, or its namespace was removed.
            if self.relation == Relation::Primary {
                self.work.forget(key);
            }
            return;
        }
        if self.relation == Relation::Primary && self.work.needs_uids() {
            self.record_recreation(event);
        }
        let is_accepted = self.is_accepted(event);
        let received = Instant::now();
        let reason = self.reason(event);
        let mut add = |key: Key| {
            let report = EventReport { reason: reason.clone(), received, is_accepted };
            self.work.event_received(&key, report);
        };
        // An event that is rejected is recorded for the object itself only: mapping costs more than the predicate.
        match self.relation {
            Relation::Primary => add(event.key().clone()),
            Relation::Related if is_accepted => self.map(event, &mut add),
            Relation::Related => {}
        }
    }

    /// Records an object that was created or deleted, or both.
    fn record_recreation(&self, event: &Event<K>) {
        match event {
            Event::Added { key, object, .. } => self.work.created(key, object.get().meta()),
            Event::Deleted { key, old, .. } => self.work.deleted(key, old.get().meta()),
            Event::Updated { key, old, new, .. } => {
                let [old, new] = [old.get().meta(), new.get().meta()];
                if old.uid != new.uid {
                    self.work.deleted(key, old);
                    self.work.created(key, new);
                }
            }
            Event::Released { .. } => {}
        }
    }

    /// Returns the result of the predicate. If it panics, the event is accepted, because a reconcile too many is harmless.
    fn is_accepted(&self, event: &Event<K>) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.predicate.matches(event))).unwrap_or_else(|_| {
            let controller = &*self.work.name();
            tracing::error!(controller, key = %event.key(), "predicate panicked; accepting the event");
            true
        })
    }

    fn reason(&self, event: &Event<K>) -> Reason {
        match event {
            Event::Added { phase: Phase::Initial, .. } => Reason::Initial,
            event if event.is_resync() => Reason::Resync,
            Event::Added { .. } | Event::Updated { .. } | Event::Deleted { .. } | Event::Released { .. } => {
                match self.relation {
                    Relation::Primary => Reason::Changed,
                    Relation::Related => Reason::RelatedChanged(Arc::new(RelatedObject {
                        informer: Arc::clone(&self.informer),
                        key: event.key().clone(),
                    })),
                }
            }
        }
    }

    fn map(&self, event: &Event<K>, add: &mut dyn FnMut(Key)) {
        if let Event::Updated { old, .. } | Event::Deleted { old, .. } = event {
            // The old version may map to other keys than the new one.
            self.map_object(event.key(), old.get(), add);
        }
        if !event.is_resync() {
            self.map_object(event.key(), event.object().get(), add);
        }
    }

    fn map_object(&self, key: &Key, object: &K, add: &mut dyn FnMut(Key)) {
        if catch_unwind(AssertUnwindSafe(|| (self.mapper)(object, add))).is_err() {
            let controller = &*self.work.name();
            tracing::error!(controller, informer = &*self.informer, %key, "mapper panicked; its keys are not reconciled");
        }
    }
}

/// Finds the owner of an object among the objects of the primary informer.
pub(super) struct OwnerMapper<K> {
    owners: Informer<K>,
    owner: GroupKind,
    scope: OwnerScope,
}

/// Whether owners have a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerScope {
    Cluster,
    Namespaced,
    /// For kinds that are known at run time. The cache of the owners decides.
    Dynamic,
}

impl<K> OwnerMapper<K> {
    pub(super) fn new(owners: &Informer<K>, scope: OwnerScope) -> Result<Self, ControllerError> {
        let resource = owners.resource();
        let unknown = || ControllerError::UnknownOwnerKind { resource: resource.to_owned() };
        let owner = GroupKind::parse(resource).ok_or_else(unknown)?;
        Ok(Self { owners: owners.clone(), owner, scope })
    }

    /// Returns the key of the controller of an object, if its kind is that of the primary informer.
    pub(super) fn owner_of<O: Resource>(&self, owned: &O) -> Option<Key> {
        let reference = super::owner::controller_of(owned).filter(|owner| self.owner.is_kind_of(owner))?;
        let in_namespace = || Key::new(owned.meta().namespace.as_deref(), &reference.name).ok();
        let in_cluster = || Key::new(None, &reference.name).ok();
        match self.scope {
            OwnerScope::Cluster => in_cluster(),
            OwnerScope::Namespaced => in_namespace(),
            OwnerScope::Dynamic => {
                in_cluster().filter(|key| self.owners.store().get(key).is_some()).or_else(in_namespace)
            }
        }
    }
}
