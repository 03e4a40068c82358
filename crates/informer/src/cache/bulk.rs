//! Adds many objects to a store at once.

use super::{entry::Entry, snapshot::Snapshot, writer::Edit};
use crate::{object::Object, parallel::thread_count};
use kube_core::Resource;
use kube_informer_wire::Key;
use std::{sync::Arc, thread};

impl<K: Resource + Send + Sync> Edit<'_, K> {
    /// Adds objects with distinct keys. The version of the store does not change.
    ///
    /// Two threads write the objects and the namespace index in parallel, since they share no nodes.
    pub(crate) fn fill_with(&mut self, all: impl Iterator<Item = (Key, Object<K>)>) {
        let Snapshot { objects, indexes, labels, .. } = self.draft.state_mut();
        // Indexes and cached labels read each object, so these are added one at a time.
        if thread_count() == 1 || indexes.have_values() || labels.is_some() {
            for (key, object) in all {
                self.put(key, object);
            }
            return;
        }
        let entry =
            |(key, object): (Key, Object<K>)| Arc::new(Entry::new(key, object.to_stored(), Vec::new()));
        let entries: Vec<_> = all.map(entry).collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                for entry in &entries {
                    indexes.update(entry.key(), None, Some(entry));
                }
            });
            for entry in &entries {
                objects.insert(Arc::clone(entry));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::cache::Store;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_informer_wire::Key;
    use std::{collections::BTreeSet, sync::Arc};

    fn map(number: usize) -> (Key, Arc<ConfigMap>) {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("m{number}"));
        map.metadata.namespace = (!number.is_multiple_of(4)).then(|| format!("n{}", number % 4));
        (Key::of(&map).unwrap(), Arc::new(map))
    }

    /// Returns all keys, and the keys of one namespace.
    fn keys(store: &Store<ConfigMap>) -> [BTreeSet<String>; 2] {
        let snapshot = store.snapshot();
        let key = |entry: &crate::cache::Entry<ConfigMap>| entry.key().to_string();
        [snapshot.iter().map(key).collect(), snapshot.in_namespace("n1").map(key).collect()]
    }

    #[test]
    fn bulk_and_single_insertions_have_the_same_result() {
        let (bulk, mut bulk_writer) = Store::builder().build().unwrap();
        let (single, mut single_writer) = Store::builder().build().unwrap();
        for range in [0..300, 250..500] {
            let all = || range.clone().map(map).map(|(key, map)| (key, map.into()));
            bulk_writer.edit().fill_with(all());
            for (key, object) in all() {
                single_writer.edit().put(key, object);
            }
            assert_eq!(keys(&bulk), keys(&single));
        }
        assert_eq!(bulk.len(), 500);
        assert_eq!(keys(&bulk)[1].len(), 125);
        let (key, map) = map(499);
        assert_eq!(bulk.get(&key), Some(map));
    }
}
