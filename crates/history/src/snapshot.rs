//! The state of all recorded objects at one moment.

use crate::{
    error::ReadError,
    gap::Gap,
    index::VersionEntry,
    kind::{Kind, KindId},
    record::{Event, timestamp},
    view::{SegmentView, Version},
};
use jiff::Timestamp;
use kube_informer_wire::{Key, LabelSelector, ResourceVersion};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

/// The state of all recorded objects at one moment.
///
/// It contains the keys and versions; objects are read when they are needed. The objects of one kind are a state that the server had,
/// unless the kind has a [gap](Self::gap). Changes of different kinds are ordered by the time at which they were received.
pub struct Snapshot {
    time: i64,
    view: SegmentView,
    objects: HashMap<u32, BTreeMap<Key, Location>>,
    gaps: Vec<Gap>,
}

#[derive(Clone, Copy, Debug)]
struct Location {
    object: u32,
    entry: VersionEntry,
}

impl Snapshot {
    pub(crate) fn new(view: SegmentView, time: i64, gaps: Vec<Gap>) -> Self {
        let mut objects: HashMap<u32, Vec<(Key, Location)>> = HashMap::new();
        for (id, object) in (0..).zip(&view.index.objects) {
            let Some(object) = object else { continue };
            let Some(entry) = object.versions.at(time).filter(|entry| entry.event != Event::Deleted) else {
                continue;
            };
            let of_kind = objects.entry(object.kind).or_default();
            of_kind.push((object.key.clone(), Location { object: id, entry }));
        }
        // Objects are in the order of their creation, so the last one with a key exists, which a map keeps. A map of a list is built
        // faster than by inserting each object.
        let objects =
            objects.into_iter().map(|(kind, objects)| (kind, objects.into_iter().collect())).collect();
        Self { time, view, objects, gaps }
    }

    /// Returns the time of this snapshot.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        timestamp(self.time)
    }

    /// Returns the definition of a kind at this moment; `None` if it was not recorded yet.
    #[must_use]
    pub fn kind(&self, kind: KindId) -> Option<&Arc<Kind>> {
        self.view.index.kind(kind.0, self.time)
    }

    /// Returns the gap in which this moment is for a kind; `None` if its state is complete.
    #[must_use]
    pub fn gap(&self, kind: KindId) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.kind.is_none_or(|of| of == kind))
    }

    /// Returns the number of objects of a kind.
    #[must_use]
    pub fn len(&self, kind: KindId) -> usize {
        self.objects.get(&kind.0).map_or(0, BTreeMap::len)
    }

    /// Returns true if no object of any kind existed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.values().all(BTreeMap::is_empty)
    }

    /// Returns the keys of the objects of a kind, in order.
    pub fn keys(&self, kind: KindId) -> impl Iterator<Item = &Key> {
        self.objects.get(&kind.0).into_iter().flat_map(BTreeMap::keys)
    }

    /// Returns an object; `None` if it did not exist.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] if the file is damaged.
    pub fn get(&self, kind: KindId, key: &Key) -> Result<Option<Version>, ReadError> {
        let location = self.objects.get(&kind.0).and_then(|objects| objects.get(key));
        location.map_or(Ok(None), |location| self.view.version(location.object, location.entry))
    }

    /// Returns the objects of a kind in order, in a namespace or in all.
    pub fn list(
        &self,
        kind: KindId,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = Result<Version, ReadError>> {
        let objects = self.objects.get(&kind.0).into_iter().flatten();
        let objects = objects.filter(move |(key, _)| namespace.is_none() || key.namespace() == namespace);
        objects.filter_map(|(_, location)| self.view.version(location.object, location.entry).transpose())
    }

    /// Returns the objects of a kind whose labels match, in order, in a namespace or in all.
    pub fn select(
        &self,
        kind: KindId,
        namespace: Option<&str>,
        labels: &LabelSelector,
    ) -> impl Iterator<Item = Result<Version, ReadError>> {
        self.list(kind, namespace).filter_map(move |version| {
            match version.and_then(|version| matching(version, labels)) {
                Ok(found) => found.map(Ok),
                Err(error) => Some(Err(error)),
            }
        })
    }

    /// Returns the resourceVersion of a kind: the newest of its objects and of its lists and bookmarks. `None` if it was never listed.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] if the file is damaged.
    pub fn version(&self, kind: KindId) -> Result<Option<ResourceVersion>, ReadError> {
        let progress = self.view.index.progress.iter().filter(|entry| entry.kind == kind.0);
        let progress =
            progress.take_while(|entry| entry.time <= self.time).map(|entry| entry.version.clone());
        let mut newest: Option<ResourceVersion> = progress.last();
        for version in self.list(kind, None) {
            if let Some(version) = version?.version()
                && newest.as_ref().is_none_or(|newest| newest < version)
            {
                newest = Some(version.clone());
            }
        }
        Ok(newest)
    }
}

fn matching(version: Version, labels: &LabelSelector) -> Result<Option<Version>, ReadError> {
    if labels.is_everything() {
        return Ok(Some(version));
    }
    let object = version.object()?;
    let found: Option<BTreeMap<String, String>> = object.read("/metadata/labels")?;
    Ok(labels.matches(found.as_ref()).then_some(version))
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects: usize = self.objects.values().map(BTreeMap::len).sum();
        f.debug_struct("Snapshot")
            .field("time", &self.time())
            .field("objects", &objects)
            .finish_non_exhaustive()
    }
}
