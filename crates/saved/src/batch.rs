//! The changes and snapshots that a caller saves.

use crate::payload::Payload;
use bytes::Bytes;
use kube_informer_wire::{ContentHash, Key, ResourceVersion};
use std::{collections::BTreeMap, fmt, sync::Arc, time::SystemTime};

/// A saved object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The namespace and name.
    pub key: Key,
    /// The uid.
    pub uid: Arc<str>,
    /// The resourceVersion.
    pub version: ResourceVersion,
    /// The hash of the content that the server sent, if it is known.
    pub content: Option<ContentHash>,
    /// The object.
    pub payload: Payload,
}

/// Changes that are saved atomically.
///
/// A batch leads from one consistent state to the next and usually ends with the resourceVersion to resume from.
///
/// ```
/// use kube_informer_saved::{Batch, Encoding, Layout, Object, Payload};
/// use kube_informer_wire::ResourceVersion;
///
/// let mut batch = Batch::new();
/// let payload = Payload::new(Layout::Json, Encoding::PLAIN, "{}".into());
/// let version = ResourceVersion::number(7);
/// batch.put(Object { key: "web/a".parse()?, uid: "1".into(), version, content: None, payload });
/// batch.delete("web/b".parse()?);
/// batch.version(ResourceVersion::number(9));
/// assert_eq!(batch.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Batch {
    changes: Vec<Change>,
    size: usize,
}

/// One change of a saved state.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put(Object),
    Delete(Key),
    Version { source: Arc<str>, version: ResourceVersion },
    Attach { id: u32, bytes: Bytes },
    Detach { id: u32 },
}

/// A complete state that replaces everything saved before.
///
/// The writer thread consumes the objects one by one, so they need not all be in memory.
#[must_use]
pub struct Snapshot {
    pub(crate) objects: Box<dyn Iterator<Item = Object> + Send>,
    pub(crate) metadata: Metadata,
}

/// The parts of a saved state other than its objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metadata {
    /// The resourceVersion of each source.
    pub(crate) versions: BTreeMap<Arc<str>, ResourceVersion>,
    pub(crate) attachments: BTreeMap<u32, Bytes>,
    /// When the last batch was written; `None` if there is no state yet.
    pub(crate) saved_at: Option<SystemTime>,
}

/// The assumed memory use of a queued change, without its bytes.
const OVERHEAD: usize = 128;

impl Batch {
    /// Creates an empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces an object.
    pub fn put(&mut self, object: Object) -> &mut Self {
        let size = object.payload.size();
        self.push(Change::Put(object), size)
    }

    /// Deletes an object, if it exists.
    pub fn delete(&mut self, key: Key) -> &mut Self {
        self.push(Change::Delete(key), 0)
    }

    /// Sets the resourceVersion of the state after this batch, from which a watch can resume.
    pub fn version(&mut self, version: ResourceVersion) -> &mut Self {
        self.version_of("", version)
    }

    /// Sets the resourceVersion of one of several sources of the state, such as one namespace of several.
    pub fn version_of(&mut self, source: impl Into<Arc<str>>, version: ResourceVersion) -> &mut Self {
        self.push(Change::Version { source: source.into(), version }, 0)
    }

    /// Stores additional bytes, such as a compression dictionary. Replaces the attachment with the same id.
    pub fn attach(&mut self, id: u32, bytes: Bytes) -> &mut Self {
        let size = bytes.len();
        self.push(Change::Attach { id, bytes }, size)
    }

    /// Deletes an attachment, if it exists.
    pub fn detach(&mut self, id: u32) -> &mut Self {
        self.push(Change::Detach { id }, 0)
    }

    /// Returns the number of changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Returns whether there are no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the approximate memory use in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn push(&mut self, change: Change, size: usize) -> &mut Self {
        self.changes.push(change);
        self.size += size + OVERHEAD;
        self
    }
}

impl Snapshot {
    /// Creates a snapshot of these objects.
    pub fn new(objects: impl IntoIterator<Item = Object, IntoIter: Send + 'static>) -> Self {
        Self { objects: Box::new(objects.into_iter()), metadata: Metadata::default() }
    }

    /// Sets the resourceVersion of the state.
    pub fn version(self, version: ResourceVersion) -> Self {
        self.version_of("", version)
    }

    /// Sets the resourceVersion of one of several sources of the state.
    pub fn version_of(mut self, source: impl Into<Arc<str>>, version: ResourceVersion) -> Self {
        self.metadata.versions.insert(source.into(), version);
        self
    }

    /// Adds an attachment.
    pub fn attach(mut self, id: u32, bytes: Bytes) -> Self {
        self.metadata.attachments.insert(id, bytes);
        self
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}
