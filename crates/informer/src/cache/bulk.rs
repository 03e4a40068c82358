//! Fills a store with many objects at once.

use super::{entry::Entry, snapshot::Snapshot, writer::Edit};
use crate::{object::Object, parallel::thread_count};
use kube_core::Resource;
use kube_informer_wire::Key;
use std::{sync::Arc, thread};

impl<K: Resource + Send + Sync> Edit<'_, K> {
    /// Puts in objects, each under a key of its own. The version stays as it is.
    ///
    /// Objects and namespaces are written at the same time, by two threads: neither takes memory that the other would have used.
    pub(crate) fn fill_with(&mut self, all: impl Iterator<Item = (Key, Object<K>)>) {
        let Snapshot { objects, indexes, labels, .. } = &mut *self.draft.state;
        // What is looked at is put in one by one.
        if thread_count() == 1 || indexes.have_functions() || labels.is_some() {
            all.for_each(|(key, object)| drop(self.put(key, object)));
            return;
        }
        let entry =
            |(key, object): (Key, Object<K>)| Arc::new(Entry::new(key, object.to_stored(), Vec::new()));
        let entries: Vec<_> = all.map(entry).collect();
        thread::scope(|scope| {
            scope.spawn(|| entries.iter().for_each(|entry| indexes.update(entry.key(), None, Some(entry))));
            entries.iter().for_each(|entry| drop(objects.insert(Arc::clone(entry))));
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

    /// The keys of all, and of one namespace.
    fn seen(store: &Store<ConfigMap>) -> [BTreeSet<String>; 2] {
        let snapshot = store.snapshot();
        let names = |entry: &crate::cache::Entry<ConfigMap>| entry.key().to_string();
        [snapshot.iter().map(names).collect(), snapshot.in_namespace("n1").map(names).collect()]
    }

    #[test]
    fn what_is_filled_in_at_once_is_what_is_put_in_one_by_one() {
        let [(at_once, mut fast), (slowly, mut slow)] = [(); 2].map(|()| Store::builder().build().unwrap());
        for range in [0..300, 250..500] {
            let all = || range.clone().map(map).map(|(key, map)| (key, map.into()));
            fast.edit().fill_with(all());
            all().for_each(|(key, object)| drop(slow.edit().put(key, object)));
            assert_eq!(seen(&at_once), seen(&slowly));
        }
        assert_eq!((at_once.len(), seen(&at_once)[1].len()), (500, 125));
        let (key, map) = map(499);
        assert_eq!(at_once.get(&key), Some(map));
    }
}
