//! The objects of one resource, with their history.

use crate::storage::{
    event::{End, Event},
    history::History,
    record::{Content, Record},
    selection::Selection,
};
use kube_informer_wire::Key;
use std::{borrow::Borrow, cmp::Ordering, collections::BTreeMap, iter::Peekable, ops::Bound, sync::Arc};
use tokio::sync::Notify;

/// All objects of a resource, regardless of the API version in which they were written.
#[derive(Debug)]
pub(crate) struct Collection {
    objects: BTreeMap<OrderedKey, Record>,
    pub(crate) history: History,
    /// Notifies readers of changes.
    pub(crate) changed: Arc<Notify>,
    /// The number of times at which all watches were ended.
    pub(crate) ends: u64,
}

/// The objects of a collection at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects(BTreeMap<OrderedKey, Record>);

/// A key that is ordered by its text, as in etcd, so that a namespace is a contiguous range.
#[derive(Clone, Debug)]
struct OrderedKey(Key);

impl Collection {
    pub(crate) fn new(history: History) -> Self {
        Self { objects: BTreeMap::new(), history, changed: Arc::default(), ends: 0 }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Record> {
        self.objects.get(key)
    }

    /// Stores a state under `version`, and adds the change to the history.
    pub(crate) fn put(&mut self, mut content: Content, version: u64) -> Record {
        let previous = self.objects.get(content.key().as_str()).cloned();
        if let Some(previous) = &previous {
            content.share_labels(previous.content());
        }
        let record = Record::new(Arc::new(content), version);
        self.objects.insert(OrderedKey(record.key().clone()), record.clone());
        self.history.push(Event { end: End::Present, record: record.clone(), previous });
        record
    }

    /// Removes an object, and returns its last state under the version of the deletion.
    pub(crate) fn remove(&mut self, key: &str, version: u64) -> Option<Record> {
        let previous = self.objects.remove(key)?;
        let record = previous.at(version);
        self.history.push(Event { end: End::Deleted, record: record.clone(), previous: Some(previous) });
        Some(record)
    }

    /// Returns all objects in order.
    pub(crate) fn records(&self) -> impl Iterator<Item = &Record> {
        self.objects.values()
    }

    /// Returns all objects, for [`Collection::restore`].
    pub(crate) fn saved(&self) -> Objects {
        Objects(self.objects.clone())
    }

    /// Replaces all objects. The watches of the collection end, so that clients list it again.
    pub(crate) fn restore(&mut self, objects: Objects, version: u64) {
        self.objects = objects.0;
        self.history.lose(version);
    }

    /// Assigns a new version to every object, and clears the history.
    pub(crate) fn renumber(&mut self, mut next: impl FnMut() -> u64) {
        self.history = self.history.new_like();
        for record in self.objects.values_mut() {
            *record = record.at(next());
        }
    }

    /// Returns the objects of the selected namespace as they were at `version`, in order, after the key
    /// `after`; `None` if the version has expired.
    pub(crate) fn at<'a>(
        &'a self,
        version: u64,
        selection: &'a Selection,
        after: Option<&str>,
    ) -> Option<impl Iterator<Item = &'a Record>> {
        let prefix = selection.namespace.as_deref().map(|namespace| format!("{namespace}/"));
        let start = match (after, prefix) {
            (Some(after), Some(prefix)) if after < prefix.as_str() => Bound::Included(prefix),
            (Some(after), _) => Bound::Excluded(after.to_owned()),
            (None, Some(prefix)) => Bound::Included(prefix),
            (None, None) => Bound::Unbounded,
        };
        let range = (start.as_ref().map(String::as_str), Bound::Unbounded);
        let before = self.changed_after(version)?;
        let before: Vec<_> = before.range::<str, _>(range).map(|(key, record)| (*key, *record)).collect();
        let now = self.objects.range::<str, _>(range).map(|(key, record)| (key.0.as_str(), record));
        let within = |record: &&Record| {
            let wanted = selection.namespace.as_deref();
            wanted.is_none_or(|wanted| record.key().namespace() == Some(wanted))
        };
        let merged = Merged { now: now.peekable(), before: before.into_iter().peekable() };
        Some(merged.take_while(within))
    }

    /// Returns the changes since `version`, with the state of each object at that version.
    fn changed_after(&self, version: u64) -> Option<BTreeMap<&str, Option<&Record>>> {
        let mut before = BTreeMap::new();
        for event in self.history.after(version)?.rev() {
            before.insert(event.record.key().as_str(), event.previous.as_ref());
        }
        Some(before)
    }
}

/// Iterates over the current objects, with the changes since a version undone.
struct Merged<'a, N, B>
where
    N: Iterator<Item = (&'a str, &'a Record)>,
    B: Iterator<Item = (&'a str, Option<&'a Record>)>,
{
    now: Peekable<N>,
    before: Peekable<B>,
}

impl<'a, N, B> Iterator for Merged<'a, N, B>
where
    N: Iterator<Item = (&'a str, &'a Record)>,
    B: Iterator<Item = (&'a str, Option<&'a Record>)>,
{
    type Item = &'a Record;

    fn next(&mut self) -> Option<&'a Record> {
        loop {
            let order = match (self.now.peek(), self.before.peek()) {
                (_, None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((now, _)), Some((before, _))) => now.cmp(before),
            };
            if order == Ordering::Less {
                return self.now.next().map(|(_, record)| record);
            }
            if order == Ordering::Equal {
                self.now.next();
            }
            if let (_, Some(record)) = self.before.next()? {
                return Some(record);
            }
        }
    }
}

impl Borrow<str> for OrderedKey {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for OrderedKey {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for OrderedKey {}

impl Ord for OrderedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.as_str().cmp(other.0.as_str())
    }
}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
