//! The state that was found when a folder was opened.

use crate::{
    batch::{Metadata, Object},
    error::OpenError,
};
use bytes::Bytes;
use kube_informer_wire::ResourceVersion;
use std::time::{Duration, SystemTime};

/// The state that was saved last, if any.
///
/// It consists of all batches up to some point, regardless of how the previous process ended.
#[derive(Debug, Default)]
pub struct Restored {
    pub(crate) objects: Vec<Object>,
    pub(crate) metadata: Metadata,
    pub(crate) truncated: Option<Truncated>,
    pub(crate) discarded: Option<OpenError>,
}

/// The end of a file that could not be restored because it was partly written or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Truncated {
    /// The position in the file.
    pub offset: u64,
    /// The number of bytes that were removed.
    pub bytes: u64,
}

impl Restored {
    /// Returns whether there was no saved state.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.metadata.saved_at.is_none()
    }

    /// Returns the objects in unspecified order.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Returns the objects in unspecified order.
    #[must_use]
    pub fn into_objects(self) -> Vec<Object> {
        self.objects
    }

    /// Returns the resourceVersion to resume from, if the state has a single source.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version_of("")
    }

    /// Returns the resourceVersion to resume one of several sources from.
    #[must_use]
    pub fn version_of(&self, source: &str) -> Option<&ResourceVersion> {
        self.metadata.versions.get(source)
    }

    /// Returns all sources and their versions, sorted by name.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &ResourceVersion)> {
        self.metadata.versions.iter().map(|(source, version)| (&**source, version))
    }

    /// Returns the attachment with this id.
    #[must_use]
    pub fn attachment(&self, id: u32) -> Option<&Bytes> {
        self.metadata.attachments.get(&id)
    }

    /// Returns the ids of all attachments in ascending order.
    pub fn attachments(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.metadata.attachments.keys().copied()
    }

    /// Returns when the state was saved, according to the clock of the process that saved it.
    #[must_use]
    pub fn saved_at(&self) -> Option<SystemTime> {
        self.metadata.saved_at
    }

    /// Returns how long ago the state was saved; zero if that time is in the future.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        self.saved_at().map(|at| now.duration_since(at).unwrap_or_default())
    }

    /// Returns the part that was cut off the end of the file, such as a batch that was being written when the process ended.
    #[must_use]
    pub fn truncated(&self) -> Option<Truncated> {
        self.truncated
    }

    /// Returns why an unusable state was discarded; see [`Options::start_over`](crate::Options::start_over).
    #[must_use]
    pub fn discarded(&self) -> Option<&OpenError> {
        self.discarded.as_ref()
    }
}
