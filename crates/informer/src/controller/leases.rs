//! Restricts a controller to the shards that this process holds.

use super::{
    handle::{HandleParts, RunState},
    metrics::set_shard_held,
    permit::{Permission, Permit, Permits},
    reason::Reason,
    reconciler::Attempt,
    trigger::Trigger,
    work::Work,
};
use crate::{boxed::BoxFuture, informer::Informer};
use futures_util::{
    FutureExt, StreamExt,
    future::{join_all, pending},
    stream::FuturesUnordered,
};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap};
use kube_leases::{Leases, Shard, ShardChange, ShardKey, shard_hash, shard_of};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The leases of a controller.
pub(super) struct LeasePermits<K> {
    leases: Leases,
    informer: Informer<K>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The terms of held shards whose objects are in all caches.
    ready: BTreeMap<u32, u64>,
    /// Keys that were taken from the queue before their shard was ready.
    deferred: BTreeMap<u32, BTreeSet<Key>>,
    /// The shards of objects that were deleted, if they are divided by uid.
    deleted: KeyMap<u32>,
}

/// A shard on which a reconcile works. The shard is not released before it is dropped.
struct ShardPermit(Shard);

impl Permit for ShardPermit {
    fn run<'a>(&'a self, reconcile: BoxFuture<'a, Attempt>) -> BoxFuture<'a, Option<Attempt>> {
        self.0.run_while_held(reconcile).map(Result::ok).boxed()
    }
}

impl<K: Resource + Send + Sync + 'static> Permits for LeasePermits<K> {
    fn permit(&self, key: &Key) -> Permission {
        let Some(shard) = self.shard_of(key).and_then(|shard| self.leases.held_shard(shard)) else {
            self.state().deleted.remove(key);
            return Permission::Denied;
        };
        let mut state = self.state();
        if state.ready.get(&shard.index()) == Some(&shard.term()) {
            state.deleted.remove(key);
            Permission::Granted(Box::new(ShardPermit(shard)))
        } else {
            state.deferred.entry(shard.index()).or_default().insert(key.clone());
            Permission::Deferred
        }
    }

    fn deleted(&self, key: &Key, uid: Option<&str>) {
        if let (Some(ShardKey::Uid), Some(uid)) = (self.leases.shard_key(), uid) {
            let shard = shard_of(shard_hash(uid), self.leases.shard_count());
            self.state().deleted.insert(key.clone(), shard);
        }
    }
}

impl<K: Resource + Send + Sync + 'static> LeasePermits<K> {
    pub(super) fn new(leases: &Leases, informer: &Informer<K>) -> Self {
        Self { leases: leases.clone(), informer: informer.clone(), state: Mutex::default() }
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the shard of a key; `None` if its object is unknown.
    fn shard_of(&self, key: &Key) -> Option<u32> {
        let hash = match self.leases.shard_key() {
            None => return Some(0),
            Some(ShardKey::Uid) => match self.informer.get(key) {
                Some(object) => shard_hash(object.meta().uid.as_deref().unwrap_or_default()),
                None => return self.state().deleted.get(key).copied(),
            },
            Some(_) => shard_hash(key.namespace().unwrap_or_default()),
        };
        Some(shard_of(hash, self.leases.shard_count()))
    }

    /// Enqueues the keys of shards that are gained, when all caches have their objects,
    /// and drops the keys of shards that must be released.
    pub(super) async fn follow(&self, parts: &HandleParts, triggers: &[Arc<dyn Trigger>]) {
        let mut changes = self.leases.changes();
        let mut syncing = FuturesUnordered::new();
        loop {
            let synced = async {
                match syncing.next().await {
                    Some(synced) => synced,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                change = changes.next() => match change {
                    None => break,
                    Some(ShardChange::Gained(shard)) => syncing.push(sync_shard(shard, triggers)),
                    Some(ShardChange::Draining { shard } | ShardChange::Lost { shard }) => {
                        self.drop_shard(shard, parts);
                    }
                    Some(_) => {}
                },
                synced = synced => if let Some(shard) = synced {
                    self.start_shard(&shard, parts);
                },
            }
        }
        (0..self.leases.shard_count()).for_each(|shard| self.drop_shard(shard, parts));
    }

    /// Allows reconciles of a shard, and adds its keys to the queue.
    fn start_shard(&self, shard: &Shard, parts: &HandleParts) {
        let work = &parts.work;
        let mut state = self.state();
        state.ready.insert(shard.index(), shard.term());
        let deferred = state.deferred.remove(&shard.index()).unwrap_or_default();
        drop(state);
        tracing::info!(
            controller = &*work.name(),
            shard = shard.index(),
            token = shard.token(),
            "started shard"
        );
        set_shard_held(&work.name(), shard.index(), 1.0);
        deferred.iter().for_each(|key| work.requeue(key));
        // An informer that follows the leases delivers the objects of the shard as events.
        if self.informer.leases().is_none() {
            let keys = self.informer.store().keys();
            let own = keys.into_iter().filter(|key| self.shard_of(key) == Some(shard.index()));
            own.for_each(|key| work.add(key, Reason::Acquired));
        }
        parts.running.send_if_modified(|state| {
            let is_first = *state == RunState::Starting;
            if is_first {
                *state = RunState::Running;
            }
            is_first
        });
    }

    /// Drops the queued and scheduled keys of a shard. Running reconciles continue until they end or are cancelled.
    fn drop_shard(&self, shard: u32, parts: &HandleParts) {
        let mut state = self.state();
        let was_ready = state.ready.remove(&shard).is_some();
        let deferred = state.deferred.remove(&shard).unwrap_or_default();
        drop(state);
        let work: &Work = &parts.work;
        deferred.iter().for_each(|key| work.forget(key));
        work.forget_where(|key| self.shard_of(key).is_none_or(|own| own == shard));
        if was_ready {
            tracing::info!(controller = &*work.name(), shard, "stopped shard");
            set_shard_held(&work.name(), shard, 0.0);
        }
    }
}

/// Waits until all caches have the objects of a shard. Returns `None` if the shard is to be released before.
async fn sync_shard(shard: Shard, triggers: &[Arc<dyn Trigger>]) -> Option<Shard> {
    let synced = join_all(triggers.iter().map(|trigger| trigger.synced_shard(shard.clone())));
    tokio::select! {
        biased;
        () = shard.draining() => return None,
        // The deadline may pass while the API server is not reachable.
        () = shard.lost() => return None,
        _ = synced => {}
    }
    Some(shard)
}
