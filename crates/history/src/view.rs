//! A segment with its index, as readers see it.

use crate::{
    error::ReadError,
    index::{SegmentIndex, VersionEntry},
    kind::{Kind, KindId},
    live::raw_of,
    record::{ChangeHead, Event, Source, timestamp},
    segment::Segment,
};
use jiff::Timestamp;
use kube_informer_wire::{Key, ManagedFields, Raw, ResourceVersion};
use serde::de::DeserializeOwned;
use std::{fmt, sync::Arc};

/// A segment with its index.
#[derive(Clone, Debug)]
pub(crate) struct SegmentView {
    pub(crate) segment: Arc<Segment>,
    pub(crate) index: Arc<SegmentIndex>,
}

/// One recorded version of an object.
///
/// Its object is read and decompressed when it is needed.
#[derive(Clone)]
pub struct Version {
    view: SegmentView,
    offset: u64,
    kind_id: KindId,
    kind: Arc<Kind>,
    key: Key,
    uid: Arc<str>,
    time: i64,
    event: Event,
    source: Source,
    version: Option<ResourceVersion>,
    manager: Option<Arc<str>>,
}

impl SegmentView {
    /// Reads the header of a version; `None` if its object is unknown because of damage.
    pub(crate) fn version(&self, object: u32, entry: VersionEntry) -> Result<Option<Version>, ReadError> {
        let is_known =
            self.index.object(object).is_some_and(|found| self.index.kind(found.kind, entry.time).is_some());
        if !is_known {
            return Ok(None);
        }
        let change = self.segment.change(&self.index, entry.offset)?;
        Ok(self.version_of(entry, ChangeHead { object, ..change.head }, change.version))
    }

    /// Returns a version whose header was read; `None` if its object is unknown because of damage.
    pub(crate) fn version_of(
        &self,
        entry: VersionEntry,
        head: ChangeHead,
        version: Option<ResourceVersion>,
    ) -> Option<Version> {
        let found = self.index.object(head.object)?;
        let kind = self.index.kind(found.kind, entry.time)?;
        Some(Version {
            view: self.clone(),
            offset: entry.offset,
            kind_id: KindId(found.kind),
            kind: Arc::clone(kind),
            key: found.key.clone(),
            uid: Arc::clone(&found.uid),
            time: entry.time,
            event: entry.event,
            source: head.source,
            version,
            manager: self.index.manager(head.manager).cloned(),
        })
    }
}

impl Version {
    /// Returns the time at which the change was received.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        timestamp(self.time)
    }

    /// Returns the type of the change.
    #[must_use]
    pub fn event(&self) -> Event {
        self.event
    }

    /// Returns whether the change was received from a watch or found by a list.
    #[must_use]
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns the kind of the object.
    #[must_use]
    pub fn kind(&self) -> &Arc<Kind> {
        &self.kind
    }

    /// Returns the kind of the object in this history.
    #[must_use]
    pub fn kind_id(&self) -> KindId {
        self.kind_id
    }

    /// Returns the key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the uid of the object; empty if it has none.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns the resourceVersion; `None` for a deletion that was found by a list.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// Returns the field manager of the change: the one with the newest entry in `metadata.managedFields`.
    #[must_use]
    pub fn manager(&self) -> Option<&str> {
        self.manager.as_deref()
    }

    /// Reads the object as it was received. For a deletion it is the last known state.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] if a part of the file that it needs is damaged.
    pub fn object(&self) -> Result<Raw, ReadError> {
        let damaged = || ReadError::Damaged { path: self.view.segment.path().into(), offset: self.offset };
        let mut offset = self.offset;
        let (layout, bytes) = loop {
            if let Some(object) = self.view.segment.object(&self.view.index, offset)? {
                break object;
            }
            offset = self.entry_before(offset).ok_or_else(damaged)?.offset;
        };
        let raw = raw_of(&self.kind, layout, bytes);
        raw.ok_or_else(|| ReadError::UnknownSchema { kind: self.kind.to_string() })
    }

    /// Decodes the object.
    ///
    /// # Errors
    /// As [`object`](Self::object), or if it is not a `K`.
    pub fn decode<K: DeserializeOwned>(&self) -> Result<K, ReadError> {
        Ok(self.object()?.decode(ManagedFields::Keep)?)
    }

    /// Returns the version before this one; `None` if this is the first version of the object in its segment.
    ///
    /// # Errors
    /// [`ReadError::Damaged`].
    pub fn previous(&self) -> Result<Option<Self>, ReadError> {
        let Some(entry) = self.entry_before(self.offset) else { return Ok(None) };
        let objects = self.view.index.with_key(self.kind_id.0, &self.key);
        let own = objects.into_iter().find(|(_, object)| object.uid == self.uid);
        own.map_or(Ok(None), |(id, _)| self.view.version(id, entry))
    }

    fn entry_before(&self, offset: u64) -> Option<VersionEntry> {
        let objects = self.view.index.with_key(self.kind_id.0, &self.key);
        objects.into_iter().find_map(|(_, object)| {
            let has_uid = object.uid == self.uid;
            object.versions.before(offset).filter(|_| has_uid)
        })
    }
}

/// Prints no object, because it may contain secrets.
impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Version")
            .field("time", &self.time())
            .field("event", &self.event)
            .field("kind", &self.kind.to_string())
            .field("key", &self.key)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
