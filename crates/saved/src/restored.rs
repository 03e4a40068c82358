//! What was saved, as it is found when a folder is opened.

use crate::{batch::Object, error::OpenError};
use bytes::Bytes;
use kube_informer_wire::ResourceVersion;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// The state that was saved last, or none.
///
/// It is one that the server had, whatever happened to the process that saved it: all batches up to some point, and nothing of
/// those after.
#[derive(Debug, Default)]
pub struct Restored {
    pub(crate) objects: Vec<Object>,
    pub(crate) versions: BTreeMap<Arc<str>, ResourceVersion>,
    pub(crate) attachments: BTreeMap<u32, Bytes>,
    pub(crate) saved_at: Option<SystemTime>,
    pub(crate) dropped: Option<Dropped>,
    pub(crate) refused: Option<OpenError>,
}

/// The end of a file that was not restored: written in part, or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Where in the file it began.
    pub at: u64,
    /// How many bytes there were.
    pub bytes: u64,
}

impl Restored {
    /// Whether there was no state.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.saved_at.is_none()
    }

    /// The objects, in no particular order. Their bytes are expanded when they are asked for.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The objects, to keep.
    #[must_use]
    pub fn into_objects(self) -> Vec<Object> {
        self.objects
    }

    /// The version to resume from, if all objects come from one source.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version_of("")
    }

    /// The version to resume one of several sources from.
    #[must_use]
    pub fn version_of(&self, part: &str) -> Option<&ResourceVersion> {
        self.versions.get(part)
    }

    /// All sources and their versions, by name.
    pub fn versions(&self) -> impl Iterator<Item = (&str, &ResourceVersion)> {
        self.versions.iter().map(|(part, version)| (&**part, version))
    }

    /// What was attached under this id.
    #[must_use]
    pub fn attachment(&self, id: u32) -> Option<&Bytes> {
        self.attachments.get(&id)
    }

    /// The ids under which something was attached, in order.
    pub fn attachments(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.attachments.keys().copied()
    }

    /// When it was saved, by the clock of who saved it.
    #[must_use]
    pub fn saved_at(&self) -> Option<SystemTime> {
        self.saved_at
    }

    /// How long ago it was saved; zero if the clock says that it is yet to come.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        self.saved_at.map(|at| now.duration_since(at).unwrap_or_default())
    }

    /// What was found behind the state and could not be restored, such as a batch that was being written when the
    /// process ended.
    #[must_use]
    pub fn dropped(&self) -> Option<Dropped> {
        self.dropped
    }

    /// Why what was saved is of no use, if it was given up for that; see [`Options::start_over`](crate::Options::start_over).
    #[must_use]
    pub fn refused(&self) -> Option<&OpenError> {
        self.refused.as_ref()
    }
}
