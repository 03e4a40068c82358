//! A recorded change, decoded for printing.

use super::reader::Reader;
use crate::change::{FieldChange, changes, summary, updated};
use crate::kinds::{Kind, whole};
use crate::paint::Highlight;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_history::{self as history, Event, ReadError, Source, Version};
use kube_informer_wire::ManagedFields;
use serde_json::{Map, Value, json};

/// A change of an object between two states.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) time: Timestamp,
    pub(super) change: Change,
    pub(super) kind: Kind,
    pub(super) old: Option<DynamicObject>,
    /// The new state; for a deletion, the last known one.
    pub(super) new: DynamicObject,
    pub(super) manager: Option<String>,
    pub(super) source: Source,
}

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Existing,
    Added,
    Updated,
    Deleted,
}

impl Change {
    /// Returns the word for the change, as in `informer watch`.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Existing => "existing",
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }

    pub(super) fn highlight(self) -> Highlight {
        match self {
            Self::Existing => Highlight::Quiet,
            Self::Added => Highlight::Came,
            Self::Updated => Highlight::Changed,
            Self::Deleted => Highlight::Went,
        }
    }
}

impl Entry {
    /// Reads a recorded version and the one before it.
    pub(super) fn read(reader: &Reader, version: &Version) -> Result<Self, ReadError> {
        let previous = match version.event() {
            Event::Modified => version.previous()?,
            Event::Checkpoint | Event::Added | Event::Deleted => None,
        };
        let new = decode(version)?;
        let change = match version.event() {
            Event::Checkpoint | Event::Added if reader.existed_before(version, &new) => Change::Existing,
            Event::Checkpoint | Event::Added => Change::Added,
            Event::Modified => Change::Updated,
            Event::Deleted => Change::Deleted,
        };
        Ok(Self {
            time: version.time(),
            change,
            kind: kind_of(version.kind()),
            old: previous.as_ref().map(decode).transpose()?,
            new,
            manager: version.manager().map(str::to_owned),
            source: version.source(),
        })
    }

    /// Returns a summary of the change.
    pub(super) fn words(&self) -> String {
        match (self.change, &self.old) {
            (Change::Updated, Some(old)) => updated(old, &self.new),
            (Change::Deleted, _) if self.source == Source::List => {
                "missing in a list; the deletion itself was not received".to_owned()
            }
            _ => summary(&self.new),
        }
    }

    /// Returns the changed fields.
    pub(super) fn fields(&self) -> Vec<FieldChange> {
        match (self.change, &self.old) {
            (Change::Updated, Some(old)) => changes(old, &self.new),
            _ => Vec::new(),
        }
    }

    /// Returns the JSON document, with the fields of `informer watch -o json`.
    pub(super) fn document(&self) -> Value {
        let meta = &self.new.metadata;
        let mut document = json!({
            "time": self.time.to_string(),
            "event": match self.change { Change::Existing => "added", change => change.verb() },
            "initial": self.change == Change::Existing,
            "resource": self.kind.resource(),
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "manager": self.manager,
            "object": whole(&self.kind, &self.new),
        });
        match self.change {
            Change::Updated => document["changes"] = self.fields().iter().map(field_document).collect(),
            Change::Deleted => document["observed"] = (self.source == Source::Watch).into(),
            Change::Existing | Change::Added => {}
        }
        document
    }
}

fn field_document(change: &FieldChange) -> Value {
    let mut fields = Map::from_iter([("path".to_owned(), change.path.to_string().into())]);
    let sides = [("old", &change.old), ("new", &change.new)];
    fields.extend(sides.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
    Value::Object(fields)
}

/// Decodes an object without its managed fields, as kubectl prints it.
pub(super) fn decode(version: &Version) -> Result<DynamicObject, ReadError> {
    Ok(version.object()?.decode(ManagedFields::Drop)?)
}

/// Returns the kind as the rest of the command describes it.
pub(super) fn kind_of(kind: &history::Kind) -> Kind {
    Kind {
        group: kind.group.clone(),
        version: kind.version.clone(),
        plural: kind.plural.clone(),
        singular: kind.singular.clone(),
        kind: kind.kind.clone(),
        short_names: kind.short_names.clone(),
        categories: kind.categories.clone(),
        verbs: Vec::new(),
        has_namespaces: kind.scope == history::Scope::Namespaced,
    }
}
