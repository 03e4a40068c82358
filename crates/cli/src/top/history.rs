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
    /// Its place among all.
    pub(super) number: u64,
    /// The place of its kind.
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) time: Zoned,
    pub(super) event: Event<DynamicObject>,
}

/// The last changes of everything, a bounded number: each keeps two states of an object alive.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<VecDeque<Change>>);

/// What a change is, apart from its place.
#[derive(Debug)]
pub(super) struct Happened {
    pub(super) at: usize,
    pub(super) key: Key,
    pub(super) event: Event<DynamicObject>,
}

const LIMIT: usize = 1_000;

impl History {
    /// Writes down what happened just now.
    pub(super) fn push(&self, Happened { at, key, event }: Happened) {
        let mut changes = self.lock();
        let number = changes.back().map_or(0, |last| last.number + 1);
        if changes.len() == LIMIT {
            changes.pop_front();
        }
        changes.push_back(Change { number, at, key, time: Zoned::now(), event });
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
