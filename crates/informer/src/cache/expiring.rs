//! A store that forgets: each object lives for a fixed time after it was last put in.

use kube_core::Resource;
use kube_informer_wire::{Key, KeyError, KeyMap};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// A cache of objects with a time to live, as client-go's `NewTTLStore` makes it.
///
/// Forgetting is lazy: an object past its time is dropped by the read that meets it. Time is tokio's, so a test can
/// pause it.
#[derive(Debug)]
pub struct ExpiringStore<K> {
    ttl: Duration,
    objects: KeyMap<(Instant, Arc<K>)>,
}

impl<K: Resource> ExpiringStore<K> {
    /// A store whose objects live for `ttl`; zero means for ever.
    #[must_use]
    pub fn new(ttl: Duration) -> Self {
        Self { ttl, objects: KeyMap::default() }
    }

    /// Puts an object in, or makes it young again.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no key.
    pub fn insert(&mut self, object: Arc<K>) -> Result<(), KeyError> {
        self.objects.insert(Key::of(&*object)?, (Instant::now(), object));
        Ok(())
    }

    /// Takes an object out, if it is still alive.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<K>> {
        let (born, object) = self.objects.remove(key)?;
        self.is_alive(born).then_some(object)
    }

    /// The object with this key, if it is still alive.
    pub fn get(&mut self, key: &Key) -> Option<Arc<K>> {
        let (born, object) = self.objects.get(key)?;
        if self.is_alive(*born) {
            return Some(Arc::clone(object));
        }
        self.objects.remove(key);
        None
    }

    /// All objects that are still alive. The others are dropped.
    pub fn list(&mut self) -> Vec<Arc<K>> {
        let (ttl, now) = (self.ttl, Instant::now());
        self.objects.retain(|_, (born, _)| is_alive(ttl, now - *born));
        self.objects.values().map(|(_, object)| Arc::clone(object)).collect()
    }

    fn is_alive(&self, born: Instant) -> bool {
        is_alive(self.ttl, born.elapsed())
    }
}

/// Dead only when older than its time, not when exactly as old.
fn is_alive(ttl: Duration, age: Duration) -> bool {
    ttl.is_zero() || age <= ttl
}
