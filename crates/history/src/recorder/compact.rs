//! Starts new segments with a checkpoint, removes old ones, and restores the state of the last one.

use super::{CHECKPOINT_FRAME, MAX_DEPTH, Recorder};
use crate::{
    active::ActiveSegment,
    compression::{Dictionary, MIN_SAMPLES},
    error::RecordError,
    folder::{segment_numbers, segment_path},
    live::{KindState, LiveObject, OpenGap},
    record::{Body, ChangeHead, ChangeRecord, Event, Record, Reference, ScopeRecord, Source},
    segment::{Access, Segment},
};
use kube_informer_wire::Key;
use std::{path::Path, sync::Arc};

impl Recorder {
    pub(super) fn is_segment_full(&self, time: i64) -> bool {
        let limit = self.options.segment_size.max(4 * self.active.checkpoint_size());
        let age = i64::try_from(self.options.segment_age.as_micros()).unwrap_or(i64::MAX);
        let started = self.active.segment.preamble().started;
        let changes = self.active.changes_size();
        changes >= limit || changes > 0 && time.saturating_sub(started) >= age
    }

    /// Starts a segment with a checkpoint of all objects, and stores the index of the previous one.
    pub(super) fn roll(&mut self, time: i64, number: u64) -> Result<(), RecordError> {
        self.active.write()?;
        self.create_dictionaries();
        let mut next = ActiveSegment::create(&self.folder, number, time)?;
        let written = self.write_checkpoint(&mut next, time).and_then(|moved| {
            next.publish(&self.folder, self.base(time))?;
            Ok(moved)
        });
        let moved = match written {
            Ok(moved) => moved,
            Err(error) => {
                self.folder.discard_next();
                let defined = &self.active.index.dictionaries;
                for state in &mut self.kinds {
                    state.dictionary.take_if(|_| !defined.contains_key(&state.id));
                }
                return Err(error);
            }
        };
        // Readers scan the segment if this fails.
        let _ = self.active.store_index(&self.folder);
        self.active = next;
        self.statistics.segments += 1;
        for (index, objects) in moved.into_iter().enumerate() {
            for MovedObject { key, id, offset } in objects {
                if let Some(live) = self.kinds[index].objects.get_mut(&key) {
                    *live = LiveObject { id, offset, first: Some(offset), depth: 0, ..live.clone() };
                }
            }
        }
        Ok(())
    }

    /// Creates the dictionaries of kinds that have none, but enough objects.
    fn create_dictionaries(&mut self) {
        for index in 0..self.kinds.len() {
            let state = &self.kinds[index];
            if state.dictionary.is_some() || state.objects.len() < MIN_SAMPLES {
                continue;
            }
            let step = state.objects.len().div_ceil(1_000);
            let sample: Vec<LiveObject> = state.objects.values().step_by(step).cloned().collect();
            let objects: Vec<_> = sample.iter().filter_map(|live| self.last_version_of(live)).collect();
            let bytes: Vec<&[u8]> = objects.iter().map(|object| &object.bytes[..]).collect();
            if let Some(dictionary) = Dictionary::from_objects(&bytes) {
                // Objects of the current segment do not use it; the next segment defines it.
                self.kinds[index].set_dictionary(Arc::new(dictionary), self.options.level);
            }
        }
    }

    /// Writes the state of all kinds, and returns the new positions of their objects.
    fn write_checkpoint(
        &mut self,
        next: &mut ActiveSegment,
        time: i64,
    ) -> Result<Vec<Vec<MovedObject>>, RecordError> {
        let base = self.base(time);
        let mut moved = Vec::new();
        for index in 0..self.kinds.len() {
            let state = &self.kinds[index];
            let kind = Box::new((*state.kind).clone());
            next.push(&Record::Kind { id: state.id, time, kind }, base);
            if let Some(known) = &state.dictionary {
                let content = known.dictionary.content();
                next.push(&Record::Dictionary { kind: state.id, content }, base);
            }
            if let Some(version) = state.progress.clone() {
                next.push(&Record::Progress { kind: state.id, time, version }, base);
            }
            for gap in &state.gaps {
                let scope = ScopeRecord { kind: state.id, namespace: &gap.namespace, time: gap.from };
                next.push(&Record::GapStarted { scope, reason: &gap.reason }, base);
            }
            let mut keys: Vec<Key> = state.objects.keys().cloned().collect();
            keys.sort_unstable();
            let mut objects = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(object) = self.write_object(next, index, key, time)? {
                    objects.push(object);
                }
            }
            moved.push(objects);
        }
        Ok(moved)
    }

    /// Writes the state of an object. If it cannot be read, the object is dropped and a gap starts.
    fn write_object(
        &mut self,
        next: &mut ActiveSegment,
        index: usize,
        key: Key,
        time: i64,
    ) -> Result<Option<MovedObject>, RecordError> {
        let base = self.base(time);
        let live = self.kinds[index].objects[&key].clone();
        let change = self.active.segment.change(&self.active.index, live.offset);
        // A version that is compressed with the same dictionary is copied.
        let unchanged = change.as_ref().ok().and_then(|change| change.body.clone());
        let unchanged = unchanged.filter(|body| {
            let has_dictionary = self.active.index.dictionaries.contains_key(&self.kinds[index].id);
            has_dictionary && body.reference == Reference::Dictionary
        });
        let (layout, reference, bytes) = match unchanged {
            Some(body) => (body.layout, body.reference, body.compressed.to_vec()),
            None => {
                let Some(stored) = self.last_version_of(&live) else {
                    self.kinds[index].objects.remove(&key);
                    if !self.kinds[index].gaps.iter().any(|gap| gap.namespace.is_empty()) {
                        let from = self.last_time;
                        let scope = ScopeRecord { kind: self.kinds[index].id, namespace: "", time: from };
                        let reason = "recorded object is damaged";
                        next.push(&Record::GapStarted { scope, reason }, base);
                        let gap = OpenGap { namespace: String::new(), from, reason: reason.into() };
                        self.kinds[index].gaps.push(gap);
                    }
                    return Ok(None);
                };
                let (reference, bytes) = self.compress_alone(index, &stored.bytes);
                (stored.layout, reference, bytes)
            }
        };
        let id = next.next_object();
        let kind = self.kinds[index].id;
        next.push(&Record::Object { id, kind, key: key.clone(), uid: &live.uid }, base);
        let manager = change.ok().and_then(|change| {
            let name = self.active.index.manager(change.head.manager)?;
            Some(next.manager(name, base))
        });
        let head = ChangeHead {
            time,
            object: id,
            event: Event::Checkpoint,
            source: Source::List,
            manager: manager.unwrap_or_default(),
        };
        let body = Some(Body { layout, reference, compressed: &bytes });
        let record = Record::Change(ChangeRecord { head, version: live.version, body });
        let offset = next.push(&record, base);
        if next.pending() >= CHECKPOINT_FRAME {
            next.write()?;
        }
        Ok(Some(MovedObject { key, id, offset }))
    }

    /// Removes the segments that are older than the maximum age, and the oldest ones if the folder is too large.
    pub(super) fn retain(&mut self, time: i64) -> Result<(), RecordError> {
        if self.options.max_age.is_none() && self.options.max_size.is_none() {
            return Ok(());
        }
        let numbers = segment_numbers(self.folder.path())?;
        let active = self.active.segment.preamble().number;
        let oldest_kept = self
            .options
            .max_age
            .map(|age| time.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)));
        let size_of = |number: u64| {
            let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
            let folder = self.folder.path();
            size(&segment_path(folder, number)) + size(&crate::folder::index_path(folder, number))
        };
        let mut total: u64 = numbers.iter().map(|number| size_of(*number)).sum();
        for pair in numbers.windows(2) {
            let [number, next] = [pair[0], pair[1]];
            let is_too_large = self.options.max_size.is_some_and(|limit| total > limit);
            // A segment is needed until the next one starts.
            let is_too_old = oldest_kept.is_some_and(|oldest| {
                let next = Segment::open(self.folder.path(), next, Access::Read);
                next.is_ok_and(|next| next.preamble().started <= oldest)
            });
            if number == active || !is_too_large && !is_too_old {
                break;
            }
            total -= size_of(number);
            let removed = self.folder.remove_segment(number);
            removed.map_err(RecordError::io("remove", &segment_path(self.folder.path(), number)))?;
        }
        Ok(())
    }

    /// Restores the state of the kinds from the last segment.
    pub(super) fn restore(&mut self) -> Result<(), RecordError> {
        let index = self.active.index.clone();
        for entry in &index.kinds {
            match self.kinds.iter_mut().find(|state| state.id == entry.id) {
                Some(state) => state.kind = Arc::clone(&entry.kind),
                None => self.kinds.push(KindState::new(entry.id, (*entry.kind).clone())),
            }
        }
        for state in &mut self.kinds {
            let progress = index.progress.iter().rfind(|entry| entry.kind == state.id);
            state.progress = progress.map(|entry| entry.version.clone());
            let open = index.gaps.iter().filter(|gap| gap.kind == state.id && gap.to.is_none());
            state.gaps.extend(open.map(|gap| OpenGap {
                namespace: gap.namespace.to_string(),
                from: gap.from,
                reason: gap.reason.to_string(),
            }));
            // Without its dictionary, objects are compressed without one.
            if let Ok(Some(dictionary)) = self.active.segment.dictionary_of(&index, state.id) {
                state.set_dictionary(dictionary, self.options.level);
            }
        }
        for (id, object) in (0..).zip(&index.objects) {
            let Some(object) = object else { continue };
            let Some(last) = object.versions.last().filter(|last| last.event != Event::Deleted) else {
                continue;
            };
            let Some(state) = self.kinds.iter_mut().find(|state| state.id == object.kind) else { continue };
            let change = self.active.segment.change(&index, last.offset);
            let live = LiveObject {
                id,
                uid: Arc::clone(&object.uid),
                version: change.ok().and_then(|change| change.version),
                offset: last.offset,
                first: None,
                // The length of the chain is unknown, so the next version is compressed against its first version.
                depth: MAX_DEPTH,
                last: None,
            };
            state.objects.insert(object.key.clone(), live);
        }
        Ok(())
    }
}

/// The new position of an object after a checkpoint.
struct MovedObject {
    key: Key,
    id: u32,
    offset: u64,
}
