//! The changes in a range of time, in the order in which they were recorded.

use crate::{
    error::ReadError,
    index::VersionEntry,
    kind::KindId,
    record::Event,
    view::{SegmentView, Version},
};
use kube_informer_wire::Key;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{HashSet, VecDeque},
    fmt,
};

/// A filter for [`Changes`]. An empty filter accepts all changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Filter {
    kinds: Vec<KindId>,
    namespace: Option<String>,
    key: Option<Key>,
    manager: Option<String>,
    changed: Vec<String>,
    ignored: Vec<String>,
    owner: Option<String>,
}

/// An iterator over changes.
pub struct Changes {
    views: VecDeque<SegmentView>,
    /// The next frame of the first view.
    frame: usize,
    from: i64,
    to: i64,
    pending: VecDeque<(u32, VersionEntry)>,
    filter: Filter,
    /// The uids of the owner and of all objects that it owns directly or indirectly.
    owned: HashSet<String>,
}

#[derive(Deserialize)]
struct OwnerReference {
    #[serde(default)]
    uid: String,
}

impl Filter {
    /// Accepts all changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts only changes of this kind, and of other kinds for which this is called.
    pub fn kind(mut self, kind: KindId) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Accepts only changes in a namespace.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Accepts only changes of objects with this key.
    pub fn key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Accepts only changes by a field manager.
    pub fn manager(self, manager: impl Into<String>) -> Self {
        Self { manager: Some(manager.into()), ..self }
    }

    /// Accepts only changes of the value at a JSON pointer such as `/status/phase`, or of other pointers for which this is called.
    pub fn changed(mut self, pointer: impl Into<String>) -> Self {
        self.changed.push(pointer.into());
        self
    }

    /// Rejects modifications of only this JSON pointer, and of others for which this is called. `metadata.resourceVersion` and
    /// `metadata.managedFields` are then ignored as well.
    pub fn ignore(mut self, pointer: impl Into<String>) -> Self {
        self.ignored.push(pointer.into());
        self
    }

    /// Accepts only changes of the object with this uid and of objects that it owns, directly or indirectly.
    pub fn owner(self, uid: impl Into<String>) -> Self {
        Self { owner: Some(uid.into()), ..self }
    }

    /// Returns whether objects are accepted by their owner.
    pub(crate) fn has_owner(&self) -> bool {
        self.owner.is_some()
    }

    /// Returns whether the kind and key are accepted, which needs no reading.
    fn accepts_object(&self, kind: KindId, key: &Key) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.namespace.is_none() || key.namespace() == self.namespace.as_deref())
            && self.key.as_ref().is_none_or(|only| only == key)
    }

    fn accepts_fields(&self, version: &Version) -> Result<bool, ReadError> {
        if self.changed.is_empty() && self.ignored.is_empty() {
            return Ok(true);
        }
        let previous = version.previous()?;
        let (Event::Modified, Some(previous)) = (version.event(), previous) else {
            return Ok(self.changed.is_empty() || has_any(&version.decode()?, &self.changed));
        };
        let (mut old, mut new): (Value, Value) = (previous.decode()?, version.decode()?);
        let is_changed = |pointer: &String| old.pointer(pointer) != new.pointer(pointer);
        if !self.changed.is_empty() && !self.changed.iter().any(is_changed) {
            return Ok(false);
        }
        if self.ignored.is_empty() {
            return Ok(true);
        }
        for pointer in ["/metadata/resourceVersion", "/metadata/managedFields"]
            .into_iter()
            .chain(self.ignored.iter().map(String::as_str))
        {
            remove(&mut old, pointer);
            remove(&mut new, pointer);
        }
        Ok(old != new)
    }
}

fn has_any(object: &Value, pointers: &[String]) -> bool {
    pointers.iter().any(|pointer| object.pointer(pointer).is_some())
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let name = name.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&name);
        }
        Some(Value::Array(items)) => {
            if let Some(item) = name.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                *item = Value::Null;
            }
        }
        _ => {}
    }
}

impl Changes {
    /// Creates an iterator over the changes after `from` up to and including `to`.
    pub(crate) fn new(views: Vec<SegmentView>, from: i64, to: i64, filter: Filter) -> Self {
        let owned = filter.owner.iter().cloned().collect();
        Self { views: views.into(), frame: 0, from, to, pending: VecDeque::new(), filter, owned }
    }

    /// Adds the objects that exist at the start of the range to the owner tree.
    pub(crate) fn add_owned(&mut self, objects: &[Version]) -> Result<(), ReadError> {
        loop {
            let before = self.owned.len();
            for object in objects {
                self.is_owned(object)?;
            }
            if self.owned.len() == before {
                return Ok(());
            }
        }
    }

    /// Returns whether an object is in the owner tree, and adds its uid.
    fn is_owned(&mut self, version: &Version) -> Result<bool, ReadError> {
        if self.owned.contains(version.uid()) {
            return Ok(true);
        }
        let owners: Option<Vec<OwnerReference>> = version.object()?.read("/metadata/ownerReferences")?;
        let is_owned = owners.unwrap_or_default().iter().any(|owner| self.owned.contains(&owner.uid));
        if is_owned {
            self.owned.insert(version.uid().to_owned());
        }
        Ok(is_owned)
    }

    /// Reads the next frame with changes; returns `false` at the end.
    fn read_frame(&mut self) -> Result<bool, ReadError> {
        loop {
            let Some(view) = self.views.front() else { return Ok(false) };
            let frames = &view.index.frames;
            if self.frame == 0 {
                // The frame before the first one that starts after `from` may have changes after it.
                let after = frames.partition_point(|frame| frame.time <= self.from);
                self.frame = after.saturating_sub(1);
            }
            match frames.get(self.frame) {
                Some(frame) if frame.time <= self.to => {
                    let offset = frame.offset;
                    self.frame += 1;
                    self.collect(offset)?;
                    if !self.pending.is_empty() {
                        return Ok(true);
                    }
                }
                _ => {
                    self.views.pop_front();
                    self.frame = 0;
                }
            }
        }
    }

    fn collect(&mut self, frame: u64) -> Result<(), ReadError> {
        let Some(view) = self.views.front() else { return Ok(()) };
        let Self { pending, filter, from, to, .. } = self;
        view.segment.changes_of_frame(frame, |offset, change| {
            let (time, event, object) = (change.head.time, change.head.event, change.head.object);
            let is_in_range = *from < time && time <= *to && event != Event::Checkpoint;
            let Some(entry) = view.index.object(object).filter(|_| is_in_range) else { return };
            if filter.accepts_object(KindId(entry.kind), &entry.key) {
                pending.push_back((object, VersionEntry { time, offset, event }));
            }
        })
    }

    fn next_change(&mut self) -> Result<Option<Version>, ReadError> {
        loop {
            let Some((object, entry)) = self.pending.pop_front() else {
                if self.read_frame()? {
                    continue;
                }
                return Ok(None);
            };
            let Some(view) = self.views.front() else { return Ok(None) };
            let Some(version) = view.version(object, entry)? else { continue };
            let is_by_manager =
                self.filter.manager.is_none() || version.manager() == self.filter.manager.as_deref();
            if is_by_manager
                && (self.filter.owner.is_none() || self.is_owned(&version)?)
                && self.filter.accepts_fields(&version)?
            {
                return Ok(Some(version));
            }
        }
    }
}

impl Iterator for Changes {
    type Item = Result<Version, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_change().transpose()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("filter", &self.filter).finish_non_exhaustive()
    }
}
