//! One change of an object, as all views of the page use it.

use super::undo::Undo;
use kube_informer_wire::Key;
use serde::Serialize;
use std::{mem::size_of, sync::Arc};

/// An object, by the position of its kind and its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    pub(super) kind: usize,
    pub(super) key: Key,
}

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Added,
    Updated,
    Deleted,
}

/// The size of the [`Fact`](super::fact::Fact) of a change.
const FACT: usize = 48;

/// One change of an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The position among all changes.
    pub(super) number: u64,
    /// The position of the object among those with changes, below [`ChangeLog::slots`](super::log::ChangeLog::slots). Views that visit
    /// every change count objects by it.
    pub(super) slot: u32,
    /// Microseconds since 1970. Times never decrease.
    pub(super) time: i64,
    pub(super) object: ObjectId,
    pub(super) verb: Verb,
    /// The field manager, from `metadata.managedFields`.
    pub(super) manager: Option<Arc<str>>,
    /// The controlling owner as `Kind/name`, or else the first one.
    pub(super) owner: Option<Arc<str>>,
    /// The other owners. Few objects have them.
    pub(super) other_owners: Box<[Arc<str>]>,
    pub(super) version: Option<Box<str>>,
    /// The size of the object in bytes.
    pub(super) bytes: u32,
    /// A summary of the change, such as `phase Pending -> Running`.
    pub(super) words: Box<str>,
    /// The paths of the changed fields. Changes with the same fields usually share them.
    pub(super) fields: Arc<[Arc<str>]>,
    pub(super) undo: Undo,
}

impl Change {
    /// Returns the memory that this takes, roughly.
    pub(super) fn size(&self) -> usize {
        let lists = self.fields.len() + self.other_owners.len();
        size_of::<Self>() + FACT + self.words.len() + lists * 24 + self.undo.size()
    }

    /// Returns all owners.
    pub(super) fn owners(&self) -> impl Iterator<Item = &Arc<str>> {
        self.owner.iter().chain(&self.other_owners)
    }
}
