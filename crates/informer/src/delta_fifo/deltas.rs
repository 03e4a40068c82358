//! The deltas of one key.

use crate::delta::Delta;
use kube_informer_wire::Key;

/// All deltas of one key since it was last popped, oldest first; never empty.
///
/// A consumer that keeps up receives every delta. If one key has more than [`Deltas::LIMIT`] deltas in the queue, a new delta
/// replaces the newest one. Intermediate states are then lost, but the last state and the deletion of an object that the consumer
/// has received are not. This bounds the memory of one key.
#[derive(Debug)]
pub struct Deltas<K> {
    first: Delta<K>,
    rest: Vec<Delta<K>>,
}

impl<K> Deltas<K> {
    /// The number of deltas at which a new one replaces the newest.
    pub const LIMIT: usize = 64;

    pub(super) fn new(first: Delta<K>) -> Self {
        Self { first, rest: Vec::new() }
    }

    /// Returns the key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        self.first.key()
    }

    /// Returns the number of deltas, which is at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// Returns the newest delta.
    #[must_use]
    pub fn newest(&self) -> &Delta<K> {
        self.rest.last().unwrap_or(&self.first)
    }

    /// Iterates over the deltas, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Delta<K>> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    pub(super) fn push(&mut self, delta: Delta<K>) {
        let is_full = self.len() >= Self::LIMIT;
        let was_recreated = matches!(self.rest.iter().rev().nth(1), Some(Delta::Deleted(..)));
        let newest = self.rest.last_mut().unwrap_or(&mut self.first);
        match (newest, delta) {
            // The first final state is the correct one, because the object did not exist any more at the second deletion.
            (Delta::Deleted(_, Some(_)), Delta::Deleted(..)) => {}
            (newest @ Delta::Deleted(_, None), delta @ Delta::Deleted(..)) => *newest = delta,
            // The object was created and deleted in the queue. The deletion of the previous object with this key is kept.
            (_, Delta::Deleted(..)) if is_full && was_recreated => drop(self.rest.pop()),
            (newest @ (Delta::Added(..) | Delta::Updated(..)), delta) if is_full => *newest = delta,
            (_, delta) => self.rest.push(delta),
        }
    }
}

/// The deltas, oldest first.
impl<K> IntoIterator for Deltas<K> {
    type Item = Delta<K>;
    type IntoIter = std::iter::Chain<std::iter::Once<Delta<K>>, std::vec::IntoIter<Delta<K>>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self.first).chain(self.rest)
    }
}
