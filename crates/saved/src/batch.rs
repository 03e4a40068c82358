//! What is saved together: objects that came, keys that went, and the version at which all of this holds.

use crate::payload::Payload;
use bytes::Bytes;
use kube_informer_wire::{Key, ResourceVersion};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// One object as it is saved.
#[derive(Clone, Debug)]
pub struct Object {
    /// Where it lives.
    pub key: Key,
    /// Its uid.
    pub uid: Arc<str>,
    /// Its version.
    pub version: ResourceVersion,
    /// Its bytes.
    pub payload: Payload,
}

/// Changes that are saved together or not at all.
///
/// A batch leads from one state that the server had to another: what a list found different, or what a watch said up to
/// some version. It ends with the version to resume from.
///
/// ```
/// use kube_informer_saved::{Batch, Layout, Object, Payload};
/// use kube_informer_wire::ResourceVersion;
///
/// let mut batch = Batch::new();
/// let payload = Payload::plain(Layout::Json, "{}".into());
/// batch.put(Object { key: "web/a".parse()?, uid: "1".into(), version: ResourceVersion::number(7), payload });
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

/// One change of a batch.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put(Object),
    Delete(Key),
    Version { part: Arc<str>, version: ResourceVersion },
    Attach { id: u32, bytes: Bytes },
    Detach { id: u32 },
}

/// A whole state, to save in place of whatever was saved before.
///
/// The objects are asked for by the writer, on its thread, one after the other, so that they need not all be at hand.
#[must_use]
pub struct Snapshot {
    pub(crate) objects: Box<dyn Iterator<Item = Object> + Send>,
    pub(crate) versions: BTreeMap<Arc<str>, ResourceVersion>,
    pub(crate) attachments: BTreeMap<u32, Bytes>,
}

/// What a change takes in the queue beside its bytes.
const OVERHEAD: usize = 128;

impl Batch {
    /// A batch that changes nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The object is like this, whether it is new or known.
    pub fn put(&mut self, object: Object) -> &mut Self {
        let size = object.payload.size();
        self.push(Change::Put(object), size)
    }

    /// There is no object of this key.
    pub fn delete(&mut self, key: Key) -> &mut Self {
        self.push(Change::Delete(key), 0)
    }

    /// With this batch, the state is that of this version: a watch may go on from here.
    pub fn version(&mut self, version: ResourceVersion) -> &mut Self {
        self.version_of("", version)
    }

    /// As [`Batch::version`], for one of several sources that make up the state, such as one namespace of several.
    pub fn version_of(&mut self, part: impl Into<Arc<str>>, version: ResourceVersion) -> &mut Self {
        self.push(Change::Version { part: part.into(), version }, 0)
    }

    /// Keeps bytes beside the objects, such as the dictionary that payloads are encoded with; replaces what has this id.
    pub fn attach(&mut self, id: u32, bytes: Bytes) -> &mut Self {
        let size = bytes.len();
        self.push(Change::Attach { id, bytes }, size)
    }

    /// Forgets what was attached under this id.
    pub fn detach(&mut self, id: u32) -> &mut Self {
        self.push(Change::Detach { id }, 0)
    }

    /// How many changes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is no change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// About how much memory it holds.
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
    /// These objects, and no others.
    pub fn new(objects: impl IntoIterator<Item = Object, IntoIter: Send + 'static>) -> Self {
        let objects = Box::new(objects.into_iter());
        Self { objects, versions: BTreeMap::new(), attachments: BTreeMap::new() }
    }

    /// They are the state of this version.
    pub fn version(self, version: ResourceVersion) -> Self {
        self.version_of("", version)
    }

    /// As [`Snapshot::version`], for one of several sources.
    pub fn version_of(mut self, part: impl Into<Arc<str>>, version: ResourceVersion) -> Self {
        self.versions.insert(part.into(), version);
        self
    }

    /// With these bytes beside the objects.
    pub fn attach(mut self, id: u32, bytes: Bytes) -> Self {
        self.attachments.insert(id, bytes);
        self
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("versions", &self.versions).finish_non_exhaustive()
    }
}
