//! Restricts a controller to the shards that this process holds.

use super::{
    handle::{HandleParts, RunState},
    metrics::set_shard_held,
    permit::{Permission, Permit, Permits},
    reason::Reason,
    reconciler::Attempt,
    recreation::Recreations,
    trigger::Trigger,
    work::Work,
};
use crate::{boxed::BoxFuture, informer::Informer};
use futures_util::{
    FutureExt, StreamExt,
    future::{join_all, pending},
    stream::FuturesUnordered,
};
use kube_core::{ObjectMeta, Resource};
use kube_informer_wire::{Key, KeyMap};
use kube_leases::{Leases, Shard, ShardChange, ShardKey, shard_hash, shard_of};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The leases of a controller.
pub(super) struct LeasePermits<K> {
    leases: Leases,
    informer: Informer<K>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The terms of held shards whose objects are in all caches.
    ready: BTreeMap<u32, u64>,
    /// Keys that were taken from the queue before their shard was ready.
    deferred: BTreeMap<u32, BTreeSet<Key>>,
    /// Used if objects are divided by uid.
    recreations: Recreations,
    /// The running reconciles, if objects are divided by uid, and the times at which they end because their object was deleted.
    running: KeyMap<watch::Sender<Option<Instant>>>,
}

/// A shard on which a reconcile works. The shard is not released before it is dropped.
struct ShardPermit(Shard);

impl Permit for ShardPermit {
    fn run<'a>(&'a self, reconcile: BoxFuture<'a, Attempt>) -> BoxFuture<'a, Option<Attempt>> {
        self.0.run_while_held(reconcile).map(Result::ok).boxed()
    }
}

/// A shard that is divided by uid, and the end of reconciles of a deleted object.
struct UidPermit {
    shard: ShardPermit,
    key: Key,
    end_at: watch::Receiver<Option<Instant>>,
    state: Arc<Mutex<State>>,
}

impl Permit for UidPermit {
    fn run<'a>(&'a self, reconcile: BoxFuture<'a, Attempt>) -> BoxFuture<'a, Option<Attempt>> {
        async move {
            tokio::select! {
                biased;
                () = ended(self.end_at.clone()) => None,
                attempt = self.shard.run(reconcile) => attempt,
            }
        }
        .boxed()
    }
}

impl Drop for UidPermit {
    fn drop(&mut self) {
        // A key is reconciled once at a time.
        lock(&self.state).running.remove(&self.key);
    }
}

/// Waits until the time that is set has passed.
async fn ended(mut end_at: watch::Receiver<Option<Instant>>) {
    loop {
        let end = *end_at.borrow_and_update();
        let passed = async {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = passed => return,
            changed = end_at.changed() => if changed.is_err() {
                pending::<()>().await;
            },
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K: Resource + Send + Sync + 'static> Permits for LeasePermits<K> {
    fn permit(&self, key: &Key) -> Permission {
        let Some(shard) = self.shard_of(key).and_then(|shard| self.leases.held_shard(shard)) else {
            self.state().recreations.forget(key);
            return Permission::Denied;
        };
        let mut state = self.state();
        if state.ready.get(&shard.index()) != Some(&shard.term()) {
            state.deferred.entry(shard.index()).or_default().insert(key.clone());
            return Permission::Deferred;
        }
        if !self.needs_uids() {
            return Permission::Granted(Box::new(ShardPermit(shard)));
        }
        let now = Instant::now();
        if let Some(start_at) = state.recreations.start_at(key, now)
            && !self.holds_all_shards()
        {
            return Permission::Delayed(start_at);
        }
        let end_at = state.recreations.deletion(key, now).and_then(|deleted| deleted.end_at);
        state.recreations.started(key);
        let (running, end_at) = watch::channel(end_at);
        state.running.insert(key.clone(), running);
        let (shard, state) = (ShardPermit(shard), Arc::clone(&self.state));
        Permission::Granted(Box::new(UidPermit { shard, key: key.clone(), end_at, state }))
    }

    fn needs_uids(&self) -> bool {
        self.leases.shard_key() == Some(ShardKey::Uid)
    }

    fn deleted(&self, key: &Key, metadata: &ObjectMeta) {
        let mut state = self.state();
        let deleted = state.recreations.deleted(key, self.shard_of_uid(metadata), Instant::now());
        if let Some(running) = state.running.get(key) {
            running.send_replace(deleted.end_at);
        }
    }

    fn created(&self, key: &Key, metadata: &ObjectMeta) {
        let created_at = metadata.creation_timestamp.as_ref().map(|time| time.0);
        let now = Instant::now();
        let mut state = self.state();
        let deleted = state.recreations.take_deletion(key, now);
        let is_own = |shard: u32| self.leases.held_shard(shard).is_some();
        // The queue does not reconcile a key twice at the same time in this process. If the predecessor was waiting for another
        // process, its successor waits as well.
        if deleted.is_some_and(|deleted| is_own(deleted.shard)) && is_own(self.shard_of_uid(metadata)) {
            if let Some(running) = state.running.get(key) {
                running.send_replace(None);
            }
        } else {
            state.recreations.created(key, created_at, now);
        }
    }
}

impl<K: Resource + Send + Sync + 'static> LeasePermits<K> {
    pub(super) fn new(leases: &Leases, informer: &Informer<K>) -> Self {
        Self { leases: leases.clone(), informer: informer.clone(), state: Arc::default() }
    }

    pub(super) fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Sets the time that a new object waits, if objects are divided by uid.
    pub(super) fn set_recreation_delay(&self, delay: Duration) {
        self.state().recreations.set_delay(delay);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn holds_all_shards(&self) -> bool {
        self.leases.held().len() == self.leases.shard_count() as usize
    }

    fn shard_of_uid(&self, metadata: &ObjectMeta) -> u32 {
        shard_of(shard_hash(metadata.uid.as_deref().unwrap_or_default()), self.leases.shard_count())
    }

    /// Returns the shard of a key; `None` if its object is unknown.
    fn shard_of(&self, key: &Key) -> Option<u32> {
        let hash = match self.leases.shard_key() {
            None => return Some(0),
            Some(ShardKey::Uid) => match self.informer.get(key) {
                Some(object) => return Some(self.shard_of_uid(object.meta())),
                None => {
                    let deletion = self.state().recreations.deletion(key, Instant::now());
                    return deletion.map(|deleted| deleted.shard);
                }
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
