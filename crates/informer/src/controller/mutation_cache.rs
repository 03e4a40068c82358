//! A cache that shows the own writes of a program at once.

use crate::cache::{Snapshot, Store};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, KeyMap, ResourceVersion};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A [`Store`] with an overlay of own writes, which are visible before the watch has delivered them: client-go's `MutationCache`.
///
/// An entry of the overlay is not used once the store has caught up with its version, so that the overlay never hides a
/// change or a deletion by others. Use it if a reconcile must not act on the state before its own last write, and waiting for the
/// cache ([`Informer::written`](crate::Informer::written)) takes too long.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_informer::{Informer, controller::MutationCache};
///
/// fn remember(maps: &Informer<ConfigMap>, created: ConfigMap) -> Result<(), Box<dyn std::error::Error>> {
///     let cache = MutationCache::new(maps.store());
///     let key = cache.written(created)?;
///     assert!(cache.get(&key).is_some());
///     Ok(())
/// }
/// ```
pub struct MutationCache<K> {
    store: Store<K>,
    own: Mutex<Own<K>>,
}

/// The own writes.
struct Own<K> {
    objects: KeyMap<Arc<K>>,
    /// The number of objects at which those are removed with which the store has caught up.
    cleanup_at: usize,
}

/// The minimum number of own writes for a cleanup.
const MIN_CLEANUP: usize = 64;

impl<K: Resource> MutationCache<K> {
    /// Creates an empty overlay of a store.
    #[must_use]
    pub fn new(store: &Store<K>) -> Self {
        let own = Own { objects: KeyMap::default(), cleanup_at: MIN_CLEANUP };
        Self { store: store.clone(), own: Mutex::new(own) }
    }

    /// Adds an object that the server returned for a create, update or patch. Returns its key. An older version than the known
    /// one is ignored.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    #[doc(alias = "Mutation")]
    pub fn written(&self, object: impl Into<Arc<K>>) -> Result<Key, KeyError> {
        let object = object.into();
        let key = Key::of(&*object)?;
        let mut own = self.own();
        let is_newer = own.objects.get(&key).is_none_or(|known| !is_older(&*object, &**known));
        if is_newer {
            own.objects.insert(key.clone(), object);
        }
        if own.objects.len() >= own.cleanup_at {
            let snapshot = self.store.snapshot();
            own.objects.retain(|key, written| !is_outdated(&snapshot, snapshot.get(key).as_deref(), written));
            own.cleanup_at = (own.objects.len() * 2).max(MIN_CLEANUP);
        }
        Ok(key)
    }

    /// Returns the newest known version of an object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        let snapshot = self.store.snapshot();
        let stored = snapshot.get(key);
        let mut own = self.own();
        let Some(written) = own.objects.get(key) else { return stored };
        if is_outdated(&snapshot, stored.as_deref(), written) {
            own.objects.remove(key);
            return stored;
        }
        Some(Arc::clone(written))
    }

    /// Returns the number of own writes that the store has not caught up with, and of some older ones.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.own().objects.len()
    }

    fn own(&self) -> MutexGuard<'_, Own<K>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if the store has caught up with an own write of the object that it has as `stored`.
fn is_outdated<K: Resource>(snapshot: &Snapshot<K>, stored: Option<&K>, written: &K) -> bool {
    let has_caught_up = match (snapshot.version(), version_of(written)) {
        (Some(held), Some(written)) => held.partial_cmp(&written).is_some_and(|order| order.is_ge()),
        _ => false,
    };
    has_caught_up || stored.is_some_and(|stored| is_older(written, stored))
}

fn version_of<K: Resource>(object: &K) -> Option<ResourceVersion> {
    object.meta().resource_version.as_deref()?.parse().ok()
}

/// Returns true if `one` is an older version than `other`.
fn is_older<K: Resource>(one: &K, other: &K) -> bool {
    match (version_of(one), version_of(other)) {
        (Some(one), Some(other)) => one.partial_cmp(&other).is_some_and(|order| order.is_lt()),
        _ => false,
    }
}

impl<K> fmt::Debug for MutationCache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutationCache").field("store", &self.store).finish_non_exhaustive()
    }
}
