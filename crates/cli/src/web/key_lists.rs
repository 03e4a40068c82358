//! The keys of the objects that existed at a moment.

use super::{
    change::Verb,
    log::ChangeLog,
    source::{NOW, SourceError},
};
use kube_informer_wire::Key;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

/// The sorted keys of each kind after a change. Those of other moments differ by the objects that were added and deleted in between.
#[derive(Debug, Default)]
pub(super) struct KeyLists(Mutex<HashMap<usize, KeyList>>);

#[derive(Clone, Debug)]
struct KeyList {
    /// The number of the next change.
    next: u64,
    keys: Arc<[Key]>,
}

impl KeyLists {
    /// Returns the keys of the objects of a kind that existed at a moment, in order. `read` returns those that exist after the last
    /// change of the log, if they are not known yet. It is called once for each kind.
    pub(super) fn at(
        &self,
        log: &ChangeLog,
        kind: usize,
        time: i64,
        read: impl FnOnce() -> Result<Vec<Key>, SourceError>,
    ) -> Result<Arc<[Key]>, SourceError> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = match lists.get(&kind) {
            // The changes since then are in the log.
            Some(list) if list.next >= log.dropped() => list.forward(log, kind),
            _ => {
                let mut keys = read()?;
                keys.sort_unstable();
                KeyList { next: log.next(), keys: keys.into() }
            }
        };
        lists.insert(kind, current.clone());
        drop(lists);
        Ok(if time == NOW { current.keys } else { current.before(log, kind, log.number_after(time)) })
    }
}

impl KeyList {
    /// Returns the list after the last change of the log.
    fn forward(&self, log: &ChangeLog, kind: usize) -> Self {
        let changes = log.existence(kind, self.next);
        let exist = changes.map(|change| (&change.object.key, change.verb == Verb::Added)).collect();
        Self { next: log.next(), keys: self.with(&exist) }
    }

    /// Returns the keys before the change with this number.
    fn before(&self, log: &ChangeLog, kind: usize, number: u64) -> Arc<[Key]> {
        // The first change after the moment decides: it is the last one here.
        let changes = log.existence(kind, number).rev();
        self.with(&changes.map(|change| (&change.object.key, change.verb == Verb::Deleted)).collect())
    }

    /// Returns the keys, with those that exist and without those that do not.
    fn with(&self, exist: &BTreeMap<&Key, bool>) -> Arc<[Key]> {
        if exist.is_empty() {
            return Arc::clone(&self.keys);
        }
        let mut keys = Vec::with_capacity(self.keys.len() + exist.len());
        let mut rest = &self.keys[..];
        for (key, exists) in exist {
            let (before, after) = rest.split_at(rest.partition_point(|known| known < *key));
            keys.extend_from_slice(before);
            rest = after.strip_prefix(std::slice::from_ref(*key)).unwrap_or(after);
            keys.extend(exists.then(|| (*key).clone()));
        }
        keys.extend_from_slice(rest);
        keys.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::{change::Change, log::tests::change};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_keys_of_any_moment_are_found_from_those_of_another(
            steps in proptest::collection::vec((0..12_u8, 0..3_u8, proptest::option::of(0.0..1.0)), 1..80)
        ) {
            let (lists, mut log) = (KeyLists::default(), ChangeLog::new(1 << 20, 0));
            let mut state: BTreeSet<Key> = ["n/3", "n/5"].map(|key| key.parse().unwrap()).into();
            let mut states = vec![state.clone()];
            let mut reads = 0;
            for (time, (number, action, moment)) in (1..).zip(steps) {
                let key = format!("n/{number}");
                let parsed: Key = key.parse().unwrap();
                let verb = match (state.contains(&parsed), action) {
                    (false, _) => Verb::Added,
                    (true, 0) => Verb::Deleted,
                    (true, _) => Verb::Updated,
                };
                match verb {
                    Verb::Deleted => _ = state.remove(&parsed),
                    Verb::Added | Verb::Updated => _ = state.insert(parsed),
                }
                log.push(Change { verb, ..change(&key, time) });
                states.push(state.clone());
                let Some(part) = moment else { continue };
                let mut at = |time| {
                    let read = || {
                        reads += 1;
                        Ok(state.iter().rev().cloned().collect())
                    };
                    lists.at(&log, 0, time, read).unwrap()
                };
                let moment = (time as f64 * part) as i64;
                prop_assert!(at(moment).iter().eq(&states[moment as usize]), "{moment} of {time}");
                prop_assert!(at(NOW).iter().eq(&state), "{time}");
            }
            prop_assert!(reads <= 1);
        }
    }
}
