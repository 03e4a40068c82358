//! What happened to one key, in order.

use crate::object::Object;
use kube_informer_wire::Key;

/// One thing that happened to an object.
#[derive(Debug, PartialEq, Eq)]
pub enum Delta<K> {
    /// It came to be, as far as the source knows.
    Added(Object<K>),
    /// It changed.
    Updated(Object<K>),
    /// It went away; with its final state, where that was seen and could be read.
    Deleted(Option<Object<K>>),
}

/// All that happened to one key since it was last popped, oldest first; never empty.
///
/// A consumer that keeps up sees every delta. One that falls behind by more than [`Deltas::LIMIT`] deltas of one key
/// finds the newest of them folded: states that came and went between two pops are left out, the last state and
/// every deletion of something seen stay. So what a hot key can cost is bounded.
#[derive(Debug)]
pub struct Deltas<K> {
    key: Key,
    first: Delta<K>,
    rest: Vec<Delta<K>>,
}

impl<K> Deltas<K> {
    /// From this many deltas on, a new one is folded into the newest.
    pub const LIMIT: usize = 64;

    pub(super) fn new(key: Key, first: Delta<K>) -> Self {
        Self { key, first, rest: Vec::new() }
    }

    /// To whom it happened.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// How many deltas there are; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }

    /// The newest delta.
    #[must_use]
    pub fn newest(&self) -> &Delta<K> {
        self.rest.last().unwrap_or(&self.first)
    }

    /// The deltas, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Delta<K>> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// Takes the key and the deltas, oldest first.
    pub fn into_parts(self) -> (Key, impl Iterator<Item = Delta<K>>) {
        (self.key, std::iter::once(self.first).chain(self.rest))
    }

    pub(super) fn push(&mut self, delta: Delta<K>) {
        let is_full = self.len() >= Self::LIMIT;
        let is_second_life = matches!(self.rest.iter().rev().nth(1), Some(Delta::Deleted(_)));
        let newest = self.rest.last_mut().unwrap_or(&mut self.first);
        match (newest, delta) {
            // The older final state is the truer one: the newer one tells of something that was gone already.
            (Delta::Deleted(Some(_)), Delta::Deleted(_)) => {}
            (newest @ Delta::Deleted(None), delta @ Delta::Deleted(_)) => *newest = delta,
            // It came and went unseen, and the deletion of what was there before it stays.
            (_, Delta::Deleted(_)) if is_full && is_second_life => drop(self.rest.pop()),
            (newest @ (Delta::Added(_) | Delta::Updated(_)), delta) if is_full => *newest = delta,
            (_, delta) => self.rest.push(delta),
        }
    }
}
