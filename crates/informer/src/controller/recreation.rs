//! Keys whose objects were deleted or created, if the objects are divided by uid.
//!
//! An object that is deleted and created again has another uid, and usually another shard. The holder of the new shard does not know
//! that the key existed before, because the server sends it only the objects of its own shards. So each holder does its part: the old one
//! ends its reconciles of the key within half of the delay after it has seen the deletion, and the new one starts none before the
//! whole delay has passed since it has seen the new object.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube_informer_wire::{Key, KeyMap};
use std::time::Duration;
use tokio::time::Instant;

/// The default of the delay.
pub(super) const RECREATION_DELAY: Duration = Duration::from_secs(6);

/// The age, by the local time of day, from which on an object does not count as new. It includes the difference of the clocks.
const MAX_AGE: SignedDuration = SignedDuration::from_secs(60);

/// The keys that were deleted or created recently.
#[derive(Debug)]
pub(super) struct Recreations {
    delay: Duration,
    deleted: KeyMap<DeletedKey>,
    /// The times before which no reconcile of a new object starts.
    created: KeyMap<Instant>,
    purged_at: Option<Instant>,
}

/// The key of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeletedKey {
    /// The shard of the deleted object.
    pub(super) shard: u32,
    /// The deadline of reconciles of the key, if there is a delay.
    pub(super) end_at: Option<Instant>,
}

impl Default for Recreations {
    fn default() -> Self {
        Self {
            delay: RECREATION_DELAY,
            deleted: KeyMap::default(),
            created: KeyMap::default(),
            purged_at: None,
        }
    }
}

impl Recreations {
    /// Sets the delay; zero disables it.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Records the deletion of an object of this shard. An object that is deleted while it waits is not reconciled, unless its wait ends first.
    pub(super) fn deleted(&mut self, key: &Key, shard: u32, now: Instant) -> DeletedKey {
        self.purge(now);
        let deleted = DeletedKey { shard, end_at: (!self.delay.is_zero()).then(|| now + self.delay / 2) };
        self.deleted.insert(key.clone(), deleted);
        deleted
    }

    /// Returns the deletion of the predecessor of a new object, if it is known and so recent that no other process can have reconciled
    /// the key in between.
    pub(super) fn take_deletion(&mut self, key: &Key, now: Instant) -> Option<DeletedKey> {
        self.deleted.remove(key).filter(|deleted| deleted.end_at.is_none_or(|end_at| end_at > now))
    }

    /// Records an object that was added to the cache, and whose predecessor another process may have reconciled.
    pub(super) fn created(&mut self, key: &Key, created_at: Option<Timestamp>, now: Instant) {
        self.purge(now);
        let is_new =
            created_at.is_some_and(|created_at| Timestamp::now().duration_since(created_at) < MAX_AGE);
        if is_new && !self.delay.is_zero() {
            self.created.insert(key.clone(), now + self.delay);
        }
    }

    /// Returns the time before which no reconcile of the key starts.
    pub(super) fn start_at(&self, key: &Key, now: Instant) -> Option<Instant> {
        self.created.get(key).copied().filter(|start_at| *start_at > now)
    }

    /// Returns the deletion of the object of a key, while reconciles of it may start.
    pub(super) fn deletion(&self, key: &Key, now: Instant) -> Option<DeletedKey> {
        self.deleted.get(key).copied().filter(|deleted| deleted.end_at.is_none_or(|end_at| end_at > now))
    }

    /// Records the start of a reconcile. The deletion is remembered for retries, if there is a time at which they end.
    pub(super) fn started(&mut self, key: &Key) {
        self.created.remove(key);
        if self.deleted.get(key).is_some_and(|deleted| deleted.end_at.is_none()) {
            self.deleted.remove(key);
        }
    }

    /// Drops a key that this process does not reconcile.
    pub(super) fn forget(&mut self, key: &Key) {
        self.created.remove(key);
        self.deleted.remove(key);
    }

    /// Drops times that have passed, once per delay.
    fn purge(&mut self, now: Instant) {
        if self.purged_at.is_none_or(|purged_at| purged_at + self.delay <= now) {
            self.purged_at = Some(now);
            self.created.retain(|_, start_at| *start_at > now);
            self.deleted.retain(|_, deleted| deleted.end_at.is_none_or(|end_at| end_at > now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        "default/a".parse().unwrap()
    }

    #[test]
    fn a_new_object_waits_for_the_delay_and_an_old_one_does_not() {
        let now = Instant::now();
        let mut recreations = Recreations::default();
        let old = Timestamp::now() - SignedDuration::from_secs(61);
        recreations.created(&key(), Some(old), now);
        assert_eq!(recreations.start_at(&key(), now), None);
        // The clock of the server may be ahead.
        for difference in [-50, 50] {
            let created_at = Timestamp::now() + SignedDuration::from_secs(difference);
            recreations.created(&key(), Some(created_at), now);
            assert_eq!(recreations.start_at(&key(), now), Some(now + RECREATION_DELAY));
            assert_eq!(recreations.start_at(&key(), now + RECREATION_DELAY), None);
        }
        recreations.set_delay(Duration::ZERO);
        recreations.forget(&key());
        recreations.created(&key(), Some(Timestamp::now()), now);
        assert_eq!(recreations.start_at(&key(), now), None);
    }

    #[test]
    fn reconciles_of_a_deleted_object_end_within_half_of_the_delay() {
        let now = Instant::now();
        let mut recreations = Recreations::default();
        let deleted = recreations.deleted(&key(), 3, now);
        assert_eq!(deleted, DeletedKey { shard: 3, end_at: Some(now + RECREATION_DELAY / 2) });
        recreations.started(&key());
        assert_eq!(recreations.deletion(&key(), now), Some(deleted), "a retry needs it");
        assert_eq!(recreations.deletion(&key(), now + RECREATION_DELAY / 2), None);
        assert_eq!(recreations.take_deletion(&key(), now), Some(deleted));
        assert_eq!(recreations.deletion(&key(), now), None);
        recreations.deleted(&key(), 3, now);
        let later = now + RECREATION_DELAY / 2;
        assert_eq!(
            recreations.take_deletion(&key(), later),
            None,
            "another process may have reconciled the key"
        );
        assert_eq!(recreations.deletion(&key(), now), None);

        recreations.set_delay(Duration::ZERO);
        assert_eq!(recreations.deleted(&key(), 3, now).end_at, None);
        recreations.started(&key());
        assert_eq!(recreations.deletion(&key(), now), None);
    }

    #[test]
    fn an_object_that_is_deleted_while_it_waits_is_not_reconciled() {
        let now = Instant::now();
        let mut recreations = Recreations::default();
        recreations.created(&key(), Some(Timestamp::now()), now);
        recreations.deleted(&key(), 3, now + Duration::from_secs(1));
        let start_at = recreations.start_at(&key(), now).unwrap();
        assert_eq!(recreations.deletion(&key(), start_at), None);
        // The wait ends before the time for reconciles of the deleted object.
        recreations.deleted(&key(), 3, now + Duration::from_secs(5));
        assert!(recreations.deletion(&key(), start_at).is_some());
    }

    #[test]
    fn times_that_have_passed_are_dropped() {
        let now = Instant::now();
        let mut recreations = Recreations::default();
        recreations.created(&key(), Some(Timestamp::now()), now);
        recreations.deleted(&"default/b".parse().unwrap(), 0, now);
        let later = now + RECREATION_DELAY;
        recreations.created(&"default/c".parse().unwrap(), None, later);
        assert!(recreations.created.is_empty() && recreations.deleted.is_empty(), "{recreations:?}");
    }
}
