//! The last changes of everything.

use jiff::Zoned;
use kube_core::DynamicObject;
use kube_informer::Event;
use kube_informer_wire::Key;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A change that happened.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The place of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) time: Zoned,
    pub(super) event: Event<DynamicObject>,
}

/// The last changes of everything, a bounded number: each keeps two states of an object alive.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<Change>>);

const LIMIT: usize = 1_000;

impl History {
    pub(super) fn push(&self, change: Change) {
        let mut changes = self.lock();
        if changes.len() == LIMIT {
            changes.pop_front();
        }
        changes.push_back(change);
    }

    /// The last of all, the newest first.
    pub(super) fn latest(&self, count: usize) -> Vec<Change> {
        self.lock().iter().rev().take(count).cloned().collect()
    }

    /// Those of one object, the newest first.
    pub(super) fn of(&self, at: usize, key: &Key) -> Vec<Change> {
        self.lock().iter().rev().filter(|change| change.at == at && change.key == *key).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Change>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
