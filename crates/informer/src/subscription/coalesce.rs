//! The latest state of each key, for a follower that fell behind.

use crate::event::Event;
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap};
use std::collections::VecDeque;
use tokio::time::Instant;

/// Events that have not been told, folded so that each key has two at most: the end of what the follower knew, and what
/// there is now.
///
/// The order is that in which keys first fell behind. What came and went unseen leaves no trace; a deletion of something
/// that the follower knew always stays.
pub(super) struct Folded<K> {
    order: VecDeque<(u64, Key)>,
    by_key: KeyMap<Pair<K>>,
    turn: u64,
}

/// Where and when the oldest of what was folded into a key was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Since {
    pub(super) position: u64,
    pub(super) received: Instant,
}

struct Pair<K> {
    turn: u64,
    since: Since,
    gone: Option<Event<K>>,
    now: Option<Event<K>>,
}

impl<K> Folded<K> {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Takes the events of the key in front.
    pub(super) fn pop(&mut self) -> Option<impl Iterator<Item = Event<K>> + use<K>> {
        loop {
            let (turn, key) = self.order.pop_front()?;
            if self.by_key.get(&key).is_some_and(|pair| pair.turn == turn) {
                let pair = self.by_key.remove(&key)?;
                if self.by_key.is_empty() {
                    // The follower has caught up, and what the fall cost is given back.
                    (self.order, self.by_key) = (VecDeque::new(), KeyMap::default());
                }
                return Some(pair.gone.into_iter().chain(pair.now));
            }
        }
    }

    /// Where and when the oldest of it was written: keys stand in the order in which they fell behind.
    pub(super) fn since(&self) -> Option<Since> {
        let live = |(turn, key): &(u64, Key)| self.by_key.get(key).filter(|pair| pair.turn == *turn);
        self.order.iter().find_map(live).map(|pair| pair.since)
    }

    fn put(&mut self, key: Key, since: Since, event: Event<K>) {
        self.turn += 1;
        self.order.push_back((self.turn, key.clone()));
        let is_end = matches!(event, Event::Deleted { .. });
        let (gone, now) = if is_end { (Some(event), None) } else { (None, Some(event)) };
        self.by_key.insert(key, Pair { turn: self.turn, since, gone, now });
    }

    /// Forgets a key that came and went, and the places that such keys leave behind.
    fn forget(&mut self, key: &Key) {
        self.by_key.remove(key);
        let by_key = &self.by_key;
        let is_live = |(turn, key): &(u64, Key)| by_key.get(key).is_some_and(|pair| pair.turn == *turn);
        while self.order.front().is_some_and(|place| !is_live(place)) {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.by_key.len() + 64 {
            self.order.retain(is_live);
        }
    }
}

impl<K: Resource> Folded<K> {
    /// Adds what happened next.
    pub(super) fn fold(&mut self, event: &Event<K>, since: Since) {
        let Ok(key) = event.object().key() else { return };
        let Some(pair) = self.by_key.get_mut(&key) else {
            return self.put(key, since, event.clone());
        };
        match (pair.now.take(), event) {
            (None, event @ (Event::Added { .. } | Event::Updated { .. })) => pair.now = Some(event.clone()),
            (
                Some(Event::Added { initial, .. }),
                Event::Updated { new, .. } | Event::Added { object: new, .. },
            ) => {
                pair.now = Some(Event::Added { object: new.clone(), initial });
            }
            (
                Some(Event::Updated { old, .. } | Event::Deleted { old, .. }),
                Event::Updated { new, .. } | Event::Added { object: new, .. },
            ) => pair.now = Some(Event::Updated { old, new: new.clone() }),
            // It was never told of, so its end is not either.
            (None | Some(Event::Added { .. }), Event::Deleted { .. }) => {}
            (
                Some(Event::Updated { old, .. } | Event::Deleted { old, .. }),
                Event::Deleted { last_known, observed, .. },
            ) => {
                let last_known = last_known.clone();
                pair.gone = Some(Event::Deleted { old, last_known, observed: *observed });
            }
        }
        if pair.gone.is_none() && pair.now.is_none() {
            self.forget(&key);
        }
    }
}

impl<K> Default for Folded<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), by_key: KeyMap::default(), turn: 0 }
    }
}
