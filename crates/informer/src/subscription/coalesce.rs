//! Folds the backlog of a subscriber that fell behind, per key.

use crate::event::{Event, UpdateCause};
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap};
use std::collections::VecDeque;
use tokio::time::Instant;

/// Undelivered events, folded to at most two per key: the deletion of the object that the subscriber received, and
/// the latest state.
///
/// Keys are ordered by when they first fell behind. An object that was added and deleted in the meantime leaves no event; the
/// deletion of an object that the subscriber received is always kept.
pub(super) struct CoalescedEvents<K> {
    /// Keys with the sequence number of their `KeyEvents`; outdated if the numbers differ.
    order: VecDeque<(u64, Key)>,
    by_key: KeyMap<KeyEvents<K>>,
    last_sequence: u64,
}

/// Where in the log and when the oldest of several folded events was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oldest {
    pub(super) position: u64,
    pub(super) received: Instant,
}

struct KeyEvents<K> {
    sequence: u64,
    oldest: Oldest,
    /// A deletion or a release.
    deleted: Option<Event<K>>,
    /// An addition or an update, behind the deletion if there is one.
    latest: Option<Event<K>>,
}

impl<K> CoalescedEvents<K> {
    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Removes the events of the first key.
    pub(super) fn pop(&mut self) -> Option<impl Iterator<Item = Event<K>> + use<K>> {
        loop {
            let (sequence, key) = self.order.pop_front()?;
            if self.by_key.get(&key).is_some_and(|events| events.sequence == sequence) {
                let events = self.by_key.remove(&key)?;
                if self.by_key.is_empty() {
                    // The subscriber has caught up: free the memory.
                    *self = Self::default();
                }
                return Some(events.deleted.into_iter().chain(events.latest));
            }
        }
    }

    /// Returns the oldest event that was folded: that of the first key.
    pub(super) fn oldest(&self) -> Option<Oldest> {
        let live =
            |(sequence, key): &(u64, Key)| self.by_key.get(key).filter(|events| events.sequence == *sequence);
        self.order.iter().find_map(live).map(|events| events.oldest)
    }

    fn insert(&mut self, key: Key, oldest: Oldest, event: Event<K>) {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        self.order.push_back((sequence, key.clone()));
        let events = if matches!(event, Event::Deleted { .. } | Event::Released { .. }) {
            KeyEvents { sequence, oldest, deleted: Some(event), latest: None }
        } else {
            KeyEvents { sequence, oldest, deleted: None, latest: Some(event) }
        };
        self.by_key.insert(key, events);
    }

    /// Removes a key that was added and deleted, and outdated elements of `order`.
    fn remove(&mut self, key: &Key) {
        self.by_key.remove(key);
        let by_key = &self.by_key;
        let is_live =
            |(sequence, key): &(u64, Key)| by_key.get(key).is_some_and(|events| events.sequence == *sequence);
        while self.order.front().is_some_and(|first| !is_live(first)) {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.by_key.len() + 64 {
            self.order.retain(is_live);
        }
    }
}

impl<K: Resource> CoalescedEvents<K> {
    /// Folds the next event.
    pub(super) fn fold(&mut self, event: &Event<K>, oldest: Oldest) {
        let key = event.key();
        let Some(events) = self.by_key.get_mut(key) else {
            return self.insert(key.clone(), oldest, event.clone());
        };
        match (events.latest.take(), event) {
            (None, Event::Added { .. } | Event::Updated { .. }) => events.latest = Some(event.clone()),
            (
                Some(Event::Added { key, phase, .. }),
                Event::Updated { new, .. } | Event::Added { object: new, .. },
            ) => events.latest = Some(Event::added(key, new.clone(), phase)),
            (
                Some(
                    Event::Updated { key, old, .. }
                    | Event::Deleted { key, old, .. }
                    | Event::Released { key, last_known: old },
                ),
                Event::Updated { new, .. } | Event::Added { object: new, .. },
            ) => {
                let is_same = old.ptr_eq(new) || old.is_same_state(new);
                let cause = if is_same { UpdateCause::Resync } else { UpdateCause::Changed };
                events.latest = Some(Event::updated(key, old, new.clone(), cause));
            }
            // The subscriber never received the addition, so it does not receive the deletion either. It has an object that was
            // released before, and that does not exist any more.
            (None | Some(Event::Added { .. }), Event::Deleted { last_known, deletion, .. }) => {
                if let Some(Event::Released { key, last_known: old }) = events.deleted.take_if(is_release) {
                    let last_known = last_known.clone();
                    events.deleted = Some(Event::Deleted { key, old, last_known, deletion: *deletion });
                }
            }
            (None | Some(Event::Added { .. }), Event::Released { .. }) => {}
            (
                Some(
                    Event::Updated { key, old, .. }
                    | Event::Deleted { key, old, .. }
                    | Event::Released { key, last_known: old },
                ),
                Event::Deleted { last_known, deletion, .. },
            ) => {
                let last_known = last_known.clone();
                events.deleted = Some(Event::Deleted { key, old, last_known, deletion: *deletion });
            }
            (
                Some(Event::Updated { key, old, .. } | Event::Deleted { key, old, .. }),
                Event::Released { .. },
            ) => events.deleted = Some(Event::released(key, old)),
            (Some(released @ Event::Released { .. }), Event::Released { .. }) => {
                events.deleted = Some(released);
            }
        }
        if events.deleted.is_none() && events.latest.is_none() {
            self.remove(event.key());
        }
    }
}

fn is_release<K>(event: &mut Event<K>) -> bool {
    matches!(event, Event::Released { .. })
}

impl<K> Default for CoalescedEvents<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), by_key: KeyMap::default(), last_sequence: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::Deletion,
        testing::{PodBuilder, describe, pod},
    };
    use k8s_openapi::api::core::v1::Pod;

    type Change<'a> = &'a dyn Fn() -> Event<Pod>;

    // A10
    #[test]
    fn releases_and_deletions_are_not_confused() {
        let update = || Event::update(pod("a").version(1), pod("a").version(5)).unwrap();
        let add = || Event::create(pod("a").version(7)).unwrap();
        let delete = || Event::delete(pod("a").version(9), Deletion::Observed).unwrap();
        let release = || Event::release(pod("a").version(3)).unwrap();
        let cases: [(&[Change<'_>], &[&str]); 6] = [
            (&[&update, &release], &["-a@1 released"]),
            (&[&update, &delete], &["-a@9"]),
            (&[&release, &add], &["-a@3 released", "+a@7"]),
            // The object was created again or regained, and deleted on the server.
            (&[&release, &add, &delete], &["-a@9"]),
            // The object was deleted on the server, and another one with its name was released.
            (&[&delete, &add, &release], &["-a@9"]),
            (&[&release, &add, &release], &["-a@3 released"]),
        ];
        for (changes, expected) in cases {
            let mut events = CoalescedEvents::default();
            let oldest = Oldest { position: 0, received: Instant::now() };
            changes.iter().for_each(|change| events.fold(&change(), oldest));
            let folded: Vec<_> = events.pop().into_iter().flatten().map(|event| describe(&event)).collect();
            assert_eq!(folded, expected);
        }
    }
}
