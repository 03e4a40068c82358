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

/// One change of an object.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The position among all changes.
    pub(super) number: u64,
    /// Microseconds since 1970. Times never decrease.
    pub(super) time: i64,
    pub(super) object: ObjectId,
    pub(super) verb: Verb,
    /// The field manager, from `metadata.managedFields`.
    pub(super) manager: Option<Arc<str>>,
    /// The controlling owner as `Kind/name`.
    pub(super) owner: Option<Arc<str>>,
    pub(super) version: Option<Box<str>>,
    /// The size of the object in bytes.
    pub(super) bytes: u32,
    /// A summary of the change, such as `phase Pending -> Running`.
    pub(super) words: Box<str>,
    /// The paths of the changed fields.
    pub(super) fields: Box<[Arc<str>]>,
    pub(super) undo: Undo,
}

impl Change {
    /// Returns the memory that this takes, roughly.
    pub(super) fn size(&self) -> usize {
        size_of::<Self>() + self.words.len() + self.fields.len() * 24 + self.undo.size()
    }
}
