//! Records changes into a folder.

use crate::{
    active::ActiveSegment,
    compression::Codec,
    error::{ReadError, RecordError},
    folder::{Folder, segment_numbers},
    kind::{Kind, KindId},
    live::{InMemory, KindState, OpenGap},
    options::{RecorderOptions, Secrets},
    record::{FrameBase, Record, ScopeRecord, Source, timestamp},
    segment::{Access, Segment},
};
use jiff::Timestamp;
use kube_informer_wire::{EventType, Key, Raw, ResourceVersion};
use std::{collections::HashSet, path::Path, sync::Arc};

/// Records changes into a folder.
///
/// Changes become visible to readers when a frame is full or at the next [`flush`](Self::flush), which also makes them durable. Call
/// it about once a second: after a crash, at most the changes since the last flush are lost.
///
/// All methods take the current time. If the clock is set back, changes are recorded with the last time until the clock has reached
/// it again.
///
/// After an error of [`flush`](Self::flush), call it again. Only if the error [is fatal](RecordError::is_fatal), changes may be lost: drop
/// the recorder, open the folder again and list all kinds.
#[derive(Debug)]
pub struct Recorder {
    folder: Folder,
    options: RecorderOptions,
    active: ActiveSegment,
    kinds: Vec<KindState>,
    in_memory: InMemory,
    codec: Codec,
    last_time: i64,
    last_version: u64,
    /// The clock was set back, and has not reached the last time again.
    clock_is_behind: bool,
    sync_failed: bool,
    /// The size of the current frame at which it is written. It grows while writing fails.
    write_at: usize,
    statistics: Statistics,
}

/// A complete list of the objects of a kind.
#[derive(Debug)]
pub struct List<I> {
    /// The kind.
    pub kind: KindId,
    /// The namespace that was listed; `None` for all namespaces.
    pub namespace: Option<String>,
    /// The version of the list.
    pub version: Option<ResourceVersion>,
    /// The objects.
    pub objects: I,
}

/// The number of changes and bytes since the recorder was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Recorded changes.
    pub changes: u64,
    /// The size of the changed objects before compression.
    pub object_bytes: u64,
    /// The size of the changed objects after compression.
    pub compressed_bytes: u64,
    /// Started segments.
    pub segments: u64,
}

/// Whether a change was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The change was recorded.
    Changed,
    /// The object is recorded in this version already, or is unknown and was deleted.
    Unchanged,
}

/// A frame is written when it has this size.
const FULL_FRAME: usize = 256 << 10;

/// The size of the frames of a checkpoint, which are read one at a time.
const CHECKPOINT_FRAME: usize = 64 << 10;

/// The maximum size of changes that could not be written.
const MAX_PENDING: usize = 32 << 20;

/// The maximum number of versions that are compressed against each other. The next version is compressed against the first one.
const MAX_DEPTH: u32 = 16;

/// The clock has been set back if it differs from the last time by more than this.
const CLOCK_TOLERANCE: i64 = 1_000_000;

impl Recorder {
    /// Opens a folder, which is created if it does not exist, and locks it.
    ///
    /// All kinds of an existing history have a gap from its end to their next [`list`](Self::list).
    ///
    /// # Errors
    /// [`RecordError::Locked`] if another recorder has opened the folder, [`RecordError::Read`] if the last segment was written in
    /// another format.
    pub fn open(
        path: impl AsRef<Path>,
        options: RecorderOptions,
        now: Timestamp,
    ) -> Result<Self, RecordError> {
        let folder = Folder::open(path.as_ref())?;
        let numbers = segment_numbers(folder.path())?;
        let existing = open_last(&folder, &numbers)?;
        let now = now.as_microsecond();
        let is_new = existing.is_none();
        let active = match existing {
            Some(active) => active,
            None => ActiveSegment::create(&folder, numbers.last().map_or(1, |last| last + 1), now)?,
        };
        let codec = Codec::new(options.level);
        let last_time = if is_new { now } else { active.index.last_time };
        let mut recorder = Self {
            folder,
            options,
            active,
            kinds: Vec::new(),
            in_memory: InMemory::default(),
            codec,
            last_time,
            last_version: 0,
            clock_is_behind: false,
            sync_failed: false,
            write_at: FULL_FRAME,
            statistics: Statistics::default(),
        };
        if is_new {
            let base = recorder.base(now);
            recorder.active.publish(&recorder.folder, base)?;
            return Ok(recorder);
        }
        recorder.restore()?;
        let stopped_at = recorder.last_time;
        for index in 0..recorder.kinds.len() {
            recorder.start_gap(index, "", stopped_at, "recorder was not running");
        }
        let time = recorder.time(now);
        let is_last =
            recorder.active.segment.preamble().number == numbers.last().copied().unwrap_or_default();
        if recorder.active.is_damaged() || !is_last {
            recorder.roll(time, numbers.last().map_or(1, |last| last + 1))?;
        }
        recorder.active.write()?;
        Ok(recorder)
    }

    /// Adds a kind, or updates the metadata of a recorded kind with the same group, version and plural name.
    ///
    /// # Errors
    /// [`RecordError::SecretsRefused`] for Secrets, unless they are [recorded](Secrets::Record).
    pub fn add_kind(&mut self, kind: Kind, now: Timestamp) -> Result<KindId, RecordError> {
        if kind.is_secret() && self.options.secrets == Secrets::Refuse {
            return Err(RecordError::SecretsRefused);
        }
        let time = self.time(now.as_microsecond());
        let base = self.base(time);
        if let Some(index) = self.kinds.iter().position(|state| state.kind.is_same_resource(&kind)) {
            let state = &mut self.kinds[index];
            let id = state.id;
            if *state.kind != kind {
                self.active.push(&Record::Kind { id, time, kind: Box::new(kind.clone()) }, base);
                state.kind = Arc::new(kind);
            }
            return Ok(KindId(id));
        }
        let id = self.kinds.iter().map(|state| state.id.saturating_add(1)).max().unwrap_or(1);
        self.active.push(&Record::Kind { id, time, kind: Box::new(kind.clone()) }, base);
        self.kinds.push(KindState::new(id, kind));
        self.start_gap(self.kinds.len() - 1, "", time, "not listed yet");
        Ok(KindId(id))
    }

    /// Records that a kind is no longer served, as after the deletion of its CustomResourceDefinition: all its objects are deleted.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn remove_kind(&mut self, kind: KindId, now: Timestamp) -> Result<(), RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        let mut keys: Vec<Key> = self.kinds[index].objects.keys().cloned().collect();
        keys.sort_unstable();
        for key in keys {
            self.delete(time, index, Source::List, &Deletion { key, object: None })?;
        }
        self.start_gap(index, "", time, "kind is not served");
        Ok(())
    }

    /// Records an event of a watch. Events that are not changes of objects are ignored.
    ///
    /// The recorded state decides whether an object was added or modified.
    ///
    /// # Errors
    /// [`RecordError::InvalidObject`] and [`RecordError::TooLarge`] if the object cannot be recorded, [`RecordError::Overflow`] if too
    /// many changes could not be written.
    pub fn change(
        &mut self,
        kind: KindId,
        event: EventType,
        object: &Raw,
        now: Timestamp,
    ) -> Result<Recorded, RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        match event {
            EventType::Added | EventType::Modified => self.put(time, index, Source::Watch, object),
            EventType::Deleted => {
                let identity = object.identity();
                let key = identity.and_then(|identity| identity.key().ok());
                let key = key.ok_or_else(|| self.kinds[index].invalid_object())?;
                self.delete(time, index, Source::Watch, &Deletion { key, object: Some(object) })
            }
            EventType::Bookmark | EventType::Error => Ok(Recorded::Unchanged),
        }
    }

    /// Records a complete list: all differences from the recorded state. It ends the gap of the kind, or of the listed namespace.
    ///
    /// Returns the number of differences.
    ///
    /// # Errors
    /// As [`change`](Self::change). The gap does not end.
    pub fn list<I>(&mut self, list: List<I>, now: Timestamp) -> Result<u64, RecordError>
    where
        I: IntoIterator<Item = Raw>,
    {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(list.kind)?;
        let objects: Vec<Raw> = list.objects.into_iter().collect();
        self.create_dictionary(index, &objects, time);
        let mut listed = HashSet::new();
        let mut differences = 0;
        for object in &objects {
            let key = object.identity().and_then(|identity| identity.key().ok());
            listed.insert(key.ok_or_else(|| self.kinds[index].invalid_object())?);
            differences += u64::from(self.put(time, index, Source::List, object)? == Recorded::Changed);
        }
        let is_in_scope =
            |key: &Key| list.namespace.is_none() || key.namespace() == list.namespace.as_deref();
        let keys = self.kinds[index].objects.keys();
        let mut missing: Vec<Key> =
            keys.filter(|key| is_in_scope(key) && !listed.contains(*key)).cloned().collect();
        missing.sort_unstable();
        for key in missing {
            let deletion = Deletion { key, object: None };
            differences += u64::from(self.delete(time, index, Source::List, &deletion)? == Recorded::Changed);
        }
        if let Some(version) = list.version {
            self.progress(index, version, time);
        }
        self.end_gap(index, list.namespace.as_deref().unwrap_or_default(), time);
        Ok(differences)
    }

    /// Records that all changes up to a version have been received.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn bookmark(
        &mut self,
        kind: KindId,
        version: ResourceVersion,
        now: Timestamp,
    ) -> Result<(), RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        self.progress(index, version, time);
        Ok(())
    }

    /// Records that changes may be missing from now on, until the next [`list`](Self::list) of the same objects.
    ///
    /// A watch that continues from the last received version has no gap.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn watch_lost(
        &mut self,
        kind: KindId,
        namespace: Option<&str>,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        self.start_gap(index, namespace.unwrap_or_default(), time, reason);
        Ok(())
    }

    /// Records that changes may be missing since a time in the past, at which the last event of the watch was received.
    ///
    /// Use it before the [`list`](Self::list) after a watch that could not be continued.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn watch_lost_since(
        &mut self,
        kind: KindId,
        namespace: Option<&str>,
        reason: &str,
        since: Timestamp,
    ) -> Result<(), RecordError> {
        let index = self.index_of(kind)?;
        let since = since.as_microsecond().min(self.last_time);
        self.start_gap(index, namespace.unwrap_or_default(), since, reason);
        Ok(())
    }

    /// Records that all recorded namespaces of a kind have been listed: its gap ends, although other namespaces were not listed.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn namespaces_listed(&mut self, kind: KindId, now: Timestamp) -> Result<(), RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        self.end_gap(index, "", time);
        Ok(())
    }

    /// Records a deletion whose last state was not received.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`].
    pub fn delete_key(&mut self, kind: KindId, key: Key, now: Timestamp) -> Result<Recorded, RecordError> {
        let time = self.time(now.as_microsecond());
        let index = self.index_of(kind)?;
        self.delete(time, index, Source::Watch, &Deletion { key, object: None })
    }

    /// Writes all changes to disk and makes them durable, starts a new segment if the current one is full, and removes old segments.
    ///
    /// # Errors
    /// [`RecordError::Io`] if the disk is full or fails. No change is lost, and the next call tries again, unless the sync failed: then
    /// the content of the disk is unknown, and each later call returns [`RecordError::SyncFailed`].
    pub fn flush(&mut self, now: Timestamp) -> Result<(), RecordError> {
        if self.sync_failed {
            return Err(RecordError::SyncFailed);
        }
        let time = self.time(now.as_microsecond());
        self.active.write()?;
        if let Err(error) = self.active.sync() {
            self.sync_failed = true;
            return Err(error);
        }
        if self.is_segment_full(time) {
            let next = self.active.segment.preamble().number + 1;
            self.retain(time)?;
            self.roll(time, next)?;
        } else if self.active.is_index_outdated(self.options.segment_size) {
            // Readers scan a larger part of the segment if this fails.
            let _ = self.active.store_index(&self.folder);
        }
        self.retain(time)
    }

    /// Flushes and closes the history.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self, now: Timestamp) -> Result<(), RecordError> {
        self.flush(now)
    }

    /// Returns the number of changes and bytes since the recorder was opened.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Returns the first moment that can be read.
    ///
    /// # Errors
    /// [`RecordError::Read`] if the first segment cannot be read.
    pub fn start(&self) -> Result<Timestamp, RecordError> {
        let numbers = segment_numbers(self.folder.path())?;
        for number in numbers {
            match Segment::open(self.folder.path(), number, Access::Read) {
                Ok(segment) => return Ok(timestamp(segment.preamble().started)),
                Err(ReadError::InvalidSegment { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(timestamp(self.active.segment.preamble().started))
    }

    /// Returns the size of all files of the history.
    ///
    /// # Errors
    /// [`RecordError::Io`] if the folder cannot be read.
    pub fn size(&self) -> Result<u64, RecordError> {
        self.folder.size()
    }

    /// Returns the number of recorded objects that exist.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.kinds.iter().map(|state| state.objects.len()).sum()
    }

    /// Returns the time of a record, which is never before that of an earlier one.
    fn time(&mut self, now: i64) -> i64 {
        if now >= self.last_time {
            self.clock_is_behind = false;
            self.last_time = now;
        } else if !self.clock_is_behind && self.last_time - now > CLOCK_TOLERANCE {
            self.clock_is_behind = true;
            let time = self.last_time;
            self.active.push(&Record::ClockStepped { time, clock: now }, self.base(time));
        }
        self.last_time
    }

    fn base(&self, time: i64) -> FrameBase {
        FrameBase { time, version: self.last_version }
    }

    fn index_of(&self, kind: KindId) -> Result<usize, RecordError> {
        let index = self.kinds.iter().position(|state| state.id == kind.0);
        index.ok_or(RecordError::UnknownKind(kind))
    }

    fn progress(&mut self, index: usize, version: ResourceVersion, time: i64) {
        let state = &mut self.kinds[index];
        if state.progress.as_ref() == Some(&version) {
            return;
        }
        let record = Record::Progress { kind: state.id, time, version: version.clone() };
        state.progress = Some(version);
        let base = self.base(time);
        self.active.push(&record, base);
    }

    fn start_gap(&mut self, index: usize, namespace: &str, from: i64, reason: &str) {
        let base = self.base(self.last_time);
        let state = &mut self.kinds[index];
        let covers = |gap: &OpenGap| gap.namespace.is_empty() || gap.namespace == namespace;
        if state.gaps.iter().any(covers) {
            return;
        }
        let scope = ScopeRecord { kind: state.id, namespace, time: from };
        self.active.push(&Record::GapStarted { scope, reason }, base);
        state.gaps.push(OpenGap { namespace: namespace.into(), from, reason: reason.into() });
    }

    fn end_gap(&mut self, index: usize, namespace: &str, time: i64) {
        let base = self.base(time);
        let state = &mut self.kinds[index];
        let before = state.gaps.len();
        state.gaps.retain(|gap| !namespace.is_empty() && gap.namespace != namespace);
        if state.gaps.len() < before {
            let scope = ScopeRecord { kind: state.id, namespace, time };
            self.active.push(&Record::GapEnded { scope }, base);
        }
    }
}

/// A deletion to record.
struct Deletion<'a> {
    key: Key,
    /// The last state; `None` if the deletion was found by a list.
    object: Option<&'a Raw>,
}

/// Opens the newest segment that can be read; `None` if there is none.
fn open_last(folder: &Folder, numbers: &[u64]) -> Result<Option<ActiveSegment>, RecordError> {
    for number in numbers.iter().rev() {
        match Segment::open(folder.path(), *number, Access::Append) {
            Ok(segment) => {
                let index = segment.verified_index(folder.path())?;
                return ActiveSegment::resume(segment, index).map(Some);
            }
            Err(ReadError::InvalidSegment { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

mod compact;
mod put;
