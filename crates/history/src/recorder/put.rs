//! Records one object: chooses the version it is compressed against.

use super::{Deletion, FULL_FRAME, MAX_DEPTH, MAX_PENDING, Recorded, Recorder};
use crate::{
    active::StoredBytes,
    compression::{Base, Dictionary, MAX_OBJECT, MIN_SAMPLES},
    error::RecordError,
    live::{LiveObject, stored_bytes},
    manager::manager,
    record::{Body, ChangeHead, ChangeRecord, Event, Record, Reference, Source},
    redaction::redact,
};
use kube_informer_wire::{Key, Raw, ResourceVersion};
use std::sync::Arc;

/// An object to record.
struct Identified<'a> {
    object: &'a Raw,
    key: Key,
    uid: Arc<str>,
    version: Option<ResourceVersion>,
}

/// The compressed form of an object.
struct Compressed {
    reference: Reference,
    bytes: Vec<u8>,
    first: Option<u64>,
    depth: u32,
}

impl Recorder {
    /// Records an object that exists.
    pub(super) fn put(
        &mut self,
        time: i64,
        index: usize,
        source: Source,
        object: &Raw,
    ) -> Result<Recorded, RecordError> {
        let state = &self.kinds[index];
        let identity = object.identity().ok_or_else(|| state.invalid_object())?;
        let key = identity.key().map_err(|_| state.invalid_object())?;
        let version = identity.version();
        let live = state.objects.get(&key);
        if let Some(live) = live
            && *live.uid == *identity.uid
            && version.is_some()
            && live.version == version
        {
            return Ok(Recorded::Unchanged);
        }
        let redacted = self.redact(index, object)?;
        let object = redacted.as_ref().unwrap_or(object);
        self.check_capacity(&key, object)?;
        let uid: Arc<str> = Arc::from(&*identity.uid);
        if live.is_some_and(|live| live.uid != uid) {
            // The deletion was missed.
            self.delete(time, index, Source::List, &Deletion { key: key.clone(), object: None })?;
        }
        let object = Identified { object, key, uid, version };
        self.write_change(time, index, source, object);
        Ok(Recorded::Changed)
    }

    /// Writes an object that differs from its recorded version.
    fn write_change(&mut self, time: i64, index: usize, source: Source, object: Identified<'_>) {
        let Identified { object, key, uid, version } = object;
        let stored = stored_bytes(object);
        let previous = self.kinds[index].objects.get(&key).cloned();
        let previous_bytes = previous.as_ref().and_then(|live| self.last_version_of(live));
        let manager = self.manager_of(index, object, previous_bytes.as_ref());
        let compressed = self.compress(index, &stored, previous.as_ref(), previous_bytes.as_ref());
        let base = self.base(time);
        let (event, id) = match &previous {
            Some(live) => (Event::Modified, live.id),
            None => {
                let id = self.active.next_object();
                let kind = self.kinds[index].id;
                self.active.push(&Record::Object { id, kind, key: key.clone(), uid: &uid }, base);
                (Event::Added, id)
            }
        };
        let manager = manager.map_or(0, |name| self.active.manager(&name, base));
        let body =
            Body { layout: stored.layout, reference: compressed.reference, compressed: &compressed.bytes };
        let head = ChangeHead { time, object: id, event, source, manager };
        let change = ChangeRecord { head, version: version.clone(), body: Some(body) };
        let offset = self.active.push(&Record::Change(change), base);
        self.statistics.object_bytes += stored.bytes.len() as u64;
        self.statistics.compressed_bytes += compressed.bytes.len() as u64;
        let number = version.as_ref().and_then(ResourceVersion::to_number);
        self.last_version = number.unwrap_or(self.last_version);
        let replaced = previous.as_ref().and_then(|live| live.last.as_ref()).map(|last| last.bytes.len());
        self.in_memory.add(self.kinds[index].id, &key, stored.bytes.len(), replaced);
        let first = compressed.first.or(Some(offset).filter(|_| compressed.depth == 0));
        let live =
            LiveObject { id, uid, version, offset, first, depth: compressed.depth, last: Some(stored) };
        self.kinds[index].objects.insert(key, live);
        self.in_memory.evict(self.options.memory, &mut self.kinds);
        self.change_recorded();
    }

    /// Records that an object was deleted.
    pub(super) fn delete(
        &mut self,
        time: i64,
        index: usize,
        source: Source,
        deletion: &Deletion<'_>,
    ) -> Result<Recorded, RecordError> {
        let Deletion { key, object } = deletion;
        let Some(live) = self.kinds[index].objects.get(key).cloned() else { return Ok(Recorded::Unchanged) };
        let redacted = object.map(|object| self.redact(index, object)).transpose()?.flatten();
        let object = redacted.as_ref().or(*object);
        if let Some(object) = object {
            self.check_capacity(key, object)?;
        }
        let version = object.and_then(|object| object.identity()?.version());
        let previous = self.last_version_of(&live);
        let manager = object.and_then(|object| self.manager_of(index, object, previous.as_ref()));
        let stored = object.map(stored_bytes);
        let compressed =
            stored.as_ref().map(|stored| self.compress(index, stored, Some(&live), previous.as_ref()));
        let base = self.base(time);
        let manager = manager.map_or(0, |name| self.active.manager(&name, base));
        let body = stored.as_ref().zip(compressed.as_ref()).map(|(stored, compressed)| Body {
            layout: stored.layout,
            reference: compressed.reference,
            compressed: &compressed.bytes,
        });
        let head = ChangeHead { time, object: live.id, event: Event::Deleted, source, manager };
        self.active.push(&Record::Change(ChangeRecord { head, version, body }), base);
        if let Some(removed) = self.kinds[index].objects.remove(key) {
            self.in_memory.remove(removed.last.map_or(0, |last| last.bytes.len()));
        }
        self.change_recorded();
        Ok(Recorded::Changed)
    }

    fn change_recorded(&mut self) {
        self.statistics.changes += 1;
        if self.active.pending() >= self.write_at {
            // If this fails, the frame is retained, and the next flush reports the error.
            let written = self.active.write();
            self.write_at = if written.is_ok() { FULL_FRAME } else { 2 * self.active.pending() };
        }
    }

    fn redact(&self, index: usize, object: &Raw) -> Result<Option<Raw>, RecordError> {
        let state = &self.kinds[index];
        redact(object, &state.kind, &self.options.redactions).map_err(|_| state.invalid_object())
    }

    fn check_capacity(&self, key: &Key, object: &Raw) -> Result<(), RecordError> {
        let bytes = object.bytes().len();
        if bytes > MAX_OBJECT {
            return Err(RecordError::TooLarge { key: key.to_string(), bytes, limit: MAX_OBJECT });
        }
        match self.active.pending() {
            pending if pending > MAX_PENDING => Err(RecordError::Overflow { bytes: pending }),
            _ => Ok(()),
        }
    }

    /// Returns the last version of an object; `None` if it cannot be read.
    pub(super) fn last_version_of(&mut self, live: &LiveObject) -> Option<StoredBytes> {
        if live.last.is_some() {
            return live.last.clone();
        }
        self.active.object(live.offset).ok().flatten()
    }

    fn manager_of(&self, index: usize, object: &Raw, previous: Option<&StoredBytes>) -> Option<String> {
        manager(object, previous.and_then(|previous| self.kinds[index].raw(previous)).as_ref())
    }

    /// Compresses an object against its previous version, against the first version of the chain if the chain is long, or against
    /// the dictionary of its kind.
    fn compress(
        &mut self,
        index: usize,
        stored: &StoredBytes,
        live: Option<&LiveObject>,
        previous: Option<&StoredBytes>,
    ) -> Compressed {
        if let Some(live) = live {
            if live.depth < MAX_DEPTH
                && let Some(previous) = previous
            {
                let bytes = self.codec.compress(&stored.bytes, Base::Version(&previous.bytes)).to_vec();
                let reference = Reference::Record(live.offset);
                return Compressed { reference, bytes, first: live.first, depth: live.depth + 1 };
            }
            let first = live.first.or_else(|| self.active.first_of_chain(live.offset).ok());
            let version = first.and_then(|first| Some((first, self.active.object(first).ok()??)));
            if let Some((first, version)) = version {
                let bytes = self.codec.compress(&stored.bytes, Base::Version(&version.bytes)).to_vec();
                let reference = Reference::Record(first);
                return Compressed { reference, bytes, first: Some(first), depth: 1 };
            }
        }
        let (reference, bytes) = self.compress_alone(index, &stored.bytes);
        Compressed { reference, bytes, first: None, depth: 0 }
    }

    /// Compresses an object without another version of it.
    pub(super) fn compress_alone(&mut self, index: usize, object: &[u8]) -> (Reference, Vec<u8>) {
        match &self.kinds[index].dictionary {
            Some(known) => (Reference::Dictionary, self.codec.compress_with(object, &known.encoder).to_vec()),
            None => (Reference::None, self.codec.compress(object, Base::None).to_vec()),
        }
    }

    /// Creates the dictionary of a kind from listed objects, unless it has one.
    pub(super) fn create_dictionary(&mut self, index: usize, objects: &[Raw], time: i64) {
        if self.kinds[index].dictionary.is_some() || objects.len() < MIN_SAMPLES {
            return;
        }
        // An object that cannot be redacted is skipped here, and rejected later.
        let redacted = objects.iter().filter_map(|object| {
            let redacted = self.redact(index, object).ok()?;
            Some(redacted.unwrap_or_else(|| object.clone()))
        });
        let redacted: Vec<Raw> = redacted.collect();
        let bytes: Vec<&[u8]> = redacted.iter().map(|object| &object.bytes()[..]).collect();
        let Some(dictionary) = Dictionary::from_objects(&bytes) else { return };
        let base = self.base(time);
        let state = &mut self.kinds[index];
        self.active.push(&Record::Dictionary { kind: state.id, content: dictionary.content() }, base);
        state.set_dictionary(Arc::new(dictionary), self.options.level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, List, RecorderOptions};
    use jiff::Timestamp;
    use kube_informer_wire::Format;
    use testkit::TempFolder;

    #[test]
    fn a_dictionary_has_no_object_that_cannot_be_redacted() {
        let folder = TempFolder::new("kube-history-dictionary");
        let options = RecorderOptions::default().redact("/data/*".parse().unwrap());
        let mut recorder = Recorder::open(folder.path(), options, Timestamp::UNIX_EPOCH).unwrap();
        let kind = Kind::new("", "v1", "ConfigMap", "configmaps");
        let kind = recorder.add_kind(kind, Timestamp::UNIX_EPOCH).unwrap();
        let object = |name: &str, end: &str| {
            let json = format!(
                r#"{{"metadata":{{"name":"{name}","uid":"{name}","resourceVersion":"1"}},"data":{{"a":"of {name}"}}{end}"#
            );
            Raw::new(Format::Json, json.into())
        };
        // The first object has a name, but is not valid JSON.
        let mut objects = vec![object("malformed", ",}")];
        objects.extend((0..MIN_SAMPLES).map(|number| object(&format!("valid-{number}"), "}")));
        let list = List { kind, namespace: None, version: None, objects };
        let error = recorder.list(list, Timestamp::UNIX_EPOCH).unwrap_err();
        assert!(matches!(error, RecordError::InvalidObject { .. }), "{error:?}");
        let dictionary = recorder.kinds[0].dictionary.as_ref().expect("enough objects are valid");
        let content = String::from_utf8_lossy(dictionary.dictionary.content());
        assert!(content.contains("valid-0") && !content.contains("of "), "{content}");
    }
}
