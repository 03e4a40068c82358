//! Reads a recorded history.

use crate::{
    changes::{Changes, Filter},
    error::ReadError,
    folder::segment_numbers,
    gap::{Gap, gaps},
    index::SegmentIndex,
    kind::{Kind, KindId},
    record::{Event, timestamp},
    segment::{Access, Preamble, Segment},
    snapshot::Snapshot,
    stored_index::Part,
    transitions::{Transition, TransitionReader},
    view::{SegmentView, Version},
};
use jiff::Timestamp;
use kube_informer_wire::Key;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

/// A recorded history, which may still be written by another process.
///
/// It contains the changes that were written when it was opened or [refreshed](Self::refresh). Several processes can read a folder at the
/// same time.
///
/// Clones share the loaded indexes.
#[derive(Clone, Debug)]
pub struct History {
    folder: PathBuf,
    segments: Vec<Arc<SegmentSlot>>,
    /// The times of segments that cannot be opened.
    unreadable: Vec<Gap>,
}

#[derive(Debug)]
struct SegmentSlot {
    preamble: Preamble,
    segment: Arc<Segment>,
    loaded: Mutex<Loaded>,
}

/// The indexes of a segment that have been needed.
#[derive(Debug, Default)]
struct Loaded {
    complete: Option<Arc<SegmentIndex>>,
    /// The index without its objects.
    head: Option<Arc<SegmentIndex>>,
}

/// The times of the first and the last recorded change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The first moment that can be read.
    pub start: Timestamp,
    /// The time of the last record.
    pub end: Timestamp,
}

/// The clock of the recorder was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockStep {
    /// The time of the last record, and of the records until the clock has reached it again.
    pub time: Timestamp,
    /// The time of the clock.
    pub clock: Timestamp,
}

/// The versions of one object.
#[derive(Debug)]
pub struct ObjectHistory<'h> {
    history: &'h History,
    kind: KindId,
    key: Key,
}

/// Fewer indexes are loaded on one core.
const PARALLEL_INDEXES: usize = 4;

impl History {
    /// Opens a folder.
    ///
    /// # Errors
    /// [`ReadError::Empty`] if it has no history, [`ReadError::UnsupportedFormat`] if it was written in another format,
    /// [`ReadError::Io`] if a file cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let folder = path.as_ref().to_owned();
        let mut history = Self { folder, segments: Vec::new(), unreadable: Vec::new() };
        history.refresh()?;
        Ok(history)
    }

    /// Adds the changes that have been written since, and removes the segments that the retention has removed.
    ///
    /// # Errors
    /// As [`open`](Self::open). [`ReadError::Empty`] if the folder or all of its segments were removed. The history then has the same
    /// segments as before.
    pub fn refresh(&mut self) -> Result<(), ReadError> {
        let numbers = segment_numbers(&self.folder)?;
        let known: BTreeMap<u64, &Arc<SegmentSlot>> =
            self.segments.iter().map(|slot| (slot.preamble.number, slot)).collect();
        let mut refreshed =
            Self { folder: self.folder.clone(), segments: Vec::new(), unreadable: Vec::new() };
        let mut unreadable_since = None;
        for number in numbers {
            let slot = match known.get(&number) {
                Some(slot) => Arc::clone(slot),
                None => match Segment::open(&self.folder, number, Access::Read) {
                    Ok(segment) => Arc::new(SegmentSlot {
                        preamble: segment.preamble(),
                        segment: Arc::new(segment),
                        loaded: Mutex::default(),
                    }),
                    Err(ReadError::InvalidSegment { path }) => {
                        unreadable_since.get_or_insert(path);
                        continue;
                    }
                    Err(error) if error.is_missing_file() => continue,
                    Err(error) => return Err(error),
                },
            };
            if let Some(path) = unreadable_since.take() {
                refreshed.add_unreadable(&path, Some(slot.preamble.started))?;
            }
            refreshed.segments.push(slot);
        }
        if let Some(path) = unreadable_since {
            refreshed.add_unreadable(&path, None)?;
        }
        if refreshed.segments.is_empty() {
            return Err(ReadError::Empty { path: refreshed.folder });
        }
        // Only the last segment grows, but the one before it may have grown before that was started.
        for slot in refreshed.segments.iter().rev().take(2) {
            slot.extend()?;
        }
        *self = refreshed;
        Ok(())
    }

    /// Adds a gap between the last segment and the next one.
    fn add_unreadable(&mut self, path: &Path, next: Option<i64>) -> Result<(), ReadError> {
        let Some(last) = self.segments.last() else { return Ok(()) };
        let from = timestamp(last.head(&self.folder)?.index.last_time);
        let reason = format!("{} is damaged", path.display());
        self.unreadable.push(Gap { kind: None, namespace: None, from, to: next.map(timestamp), reason });
        Ok(())
    }

    /// Returns the recorded kinds with their last definition.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn kinds(&self) -> Result<Vec<(KindId, Arc<Kind>)>, ReadError> {
        let mut kinds = BTreeMap::new();
        for view in self.heads()? {
            for entry in &view.index.kinds {
                kinds.insert(KindId(entry.id), Arc::clone(&entry.kind));
            }
        }
        Ok(kinds.into_iter().collect())
    }

    /// Returns the kind with a name that kubectl accepts, such as `pods`, `po` or `deployments.apps`.
    ///
    /// # Errors
    /// [`ReadError::UnknownKind`] if it is not recorded.
    pub fn kind(&self, name: &str) -> Result<KindId, ReadError> {
        let found = self.kinds()?.into_iter().find(|(_, kind)| kind.is_named(name));
        found.map(|(id, _)| id).ok_or_else(|| ReadError::UnknownKind { name: name.to_owned() })
    }

    /// Returns the times of the first moment that can be read and of the last record.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn span(&self) -> Result<Span, ReadError> {
        let end = self.last().head(&self.folder)?.index.last_time;
        Ok(Span { start: timestamp(self.first().preamble.started), end: timestamp(end) })
    }

    /// Returns the times in which changes may be missing.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn gaps(&self) -> Result<Vec<Gap>, ReadError> {
        Ok(gaps(&self.heads()?, &self.unreadable))
    }

    /// Returns the times at which the clock of the recorder was set back.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn clock_steps(&self) -> Result<Vec<ClockStep>, ReadError> {
        let views = self.heads()?;
        let steps = views.iter().flat_map(|view| &view.index.clock_steps);
        Ok(steps.map(|step| ClockStep { time: timestamp(step.time), clock: timestamp(step.clock) }).collect())
    }

    /// Returns the state at a moment, including the changes at exactly this time.
    ///
    /// # Errors
    /// [`ReadError::BeforeStart`] if the moment is not part of the history.
    pub fn at(&self, time: Timestamp) -> Result<Snapshot, ReadError> {
        let position = self.segment_at(time)?;
        let view = self.segments[position].view(&self.folder)?;
        // A gap at this moment is in this segment, or ended by a later one.
        let mut views = vec![view.clone()];
        if let Some(next) = self.segments.get(position + 1) {
            views.push(next.head(&self.folder)?);
        }
        let gaps = gaps(&views, &self.unreadable).into_iter().filter(|gap| gap.contains(time)).collect();
        Ok(Snapshot::new(view, time.as_microsecond(), gaps))
    }

    /// Returns the position of the segment that has the state at a moment.
    fn segment_at(&self, time: Timestamp) -> Result<usize, ReadError> {
        let after = self.segments.partition_point(|slot| slot.preamble.started <= time.as_microsecond());
        let before_start =
            || ReadError::BeforeStart { time, start: timestamp(self.first().preamble.started) };
        after.checked_sub(1).ok_or_else(before_start)
    }

    /// Returns the keys of all recorded objects of a kind, also of deleted ones.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn keys(&self, kind: KindId) -> Result<BTreeSet<Key>, ReadError> {
        let mut keys = BTreeSet::new();
        for view in self.views()? {
            let objects = view.index.objects.iter().flatten().filter(|object| object.kind == kind.0);
            keys.extend(objects.map(|object| object.key.clone()));
        }
        Ok(keys)
    }

    /// Returns the history of one object, which need not exist any more.
    #[must_use]
    pub fn object(&self, kind: KindId, key: Key) -> ObjectHistory<'_> {
        ObjectHistory { history: self, kind, key }
    }

    /// Returns the changes after `range.start` up to and including `range.end` that a filter accepts, in the order in which they were
    /// recorded.
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn changes(&self, range: Range<Timestamp>, filter: Filter) -> Result<Changes, ReadError> {
        let (from, to) = (range.start.as_microsecond(), range.end.as_microsecond());
        let views =
            self.slots(from, to).map(|slot| slot.view(&self.folder)).collect::<Result<Vec<_>, _>>()?;
        let has_owner = filter.has_owner();
        let mut changes = Changes::new(views, from, to, filter);
        if has_owner {
            let start = range.start.max(timestamp(self.first().preamble.started));
            let snapshot = self.at(start)?;
            let kinds = self.kinds()?;
            let existing = kinds.iter().flat_map(|(kind, _)| snapshot.list(*kind, None));
            let existing = existing.collect::<Result<Vec<_>, _>>()?;
            changes.add_owned(&existing)?;
        }
        Ok(changes)
    }

    /// Reads all changes after `range.start` up to and including `range.end`, with the states before and after them.
    ///
    /// `read` is called on all cores, in any order. `on_batch` is called with its results, in the order in which the changes were
    /// recorded. This is the fastest way to read all states: [`changes`](Self::changes) decompresses a state with all versions that it is
    /// compressed against each time it is needed. Damaged changes are skipped; they are [gaps](Self::gaps).
    ///
    /// # Errors
    /// [`ReadError::Io`].
    pub fn read_transitions<T: Send>(
        &self,
        range: Range<Timestamp>,
        read: impl Fn(Transition<'_>) -> T + Sync,
        on_batch: impl FnMut(Vec<T>),
    ) -> Result<(), ReadError> {
        let (from, to) = (range.start.as_microsecond(), range.end.as_microsecond());
        let mut reader = TransitionReader::new(from, to, read, on_batch);
        self.slots(from, to).try_for_each(|slot| reader.read_segment(&slot.view(&self.folder)?))
    }

    /// Returns the segments with changes after `from` up to and including `to`.
    fn slots(&self, from: i64, to: i64) -> impl Iterator<Item = &Arc<SegmentSlot>> {
        let first = self.segments.partition_point(|slot| slot.preamble.started <= from).saturating_sub(1);
        self.segments[first..].iter().take_while(move |slot| slot.preamble.started <= to)
    }

    /// Returns all segments, with indexes that may have no objects.
    fn heads(&self) -> Result<Vec<SegmentView>, ReadError> {
        self.segments.iter().map(|slot| slot.head(&self.folder)).collect()
    }

    /// Returns all segments. Indexes that are not loaded yet are loaded on all cores.
    fn views(&self) -> Result<Vec<SegmentView>, ReadError> {
        let missing: Vec<&Arc<SegmentSlot>> = self.segments.iter().filter(|slot| !slot.is_loaded()).collect();
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        if missing.len() >= PARALLEL_INDEXES && cores > 1 {
            thread::scope(|scope| {
                for share in missing.chunks(missing.len().div_ceil(cores)) {
                    // An error is returned below, where the index is loaded again.
                    scope.spawn(|| share.iter().for_each(|slot| drop(slot.view(&self.folder))));
                }
            });
        }
        self.segments.iter().map(|slot| slot.view(&self.folder)).collect()
    }

    fn first(&self) -> &SegmentSlot {
        self.segments.first().expect("an open history has a segment")
    }

    fn last(&self) -> &SegmentSlot {
        self.segments.last().expect("an open history has a segment")
    }
}

impl SegmentSlot {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_loaded(&self) -> bool {
        self.loaded().complete.is_some()
    }

    fn with(&self, index: Arc<SegmentIndex>) -> SegmentView {
        SegmentView { segment: Arc::clone(&self.segment), index }
    }

    /// Returns the segment with its complete index.
    fn view(&self, folder: &Path) -> Result<SegmentView, ReadError> {
        let mut loaded = self.loaded();
        if let Some(index) = loaded.complete.clone() {
            return Ok(self.with(index));
        }
        let index = Arc::new(self.segment.index(folder)?);
        loaded.complete = Some(Arc::clone(&index));
        Ok(self.with(index))
    }

    /// Returns the segment with an index that may have no objects.
    fn head(&self, folder: &Path) -> Result<SegmentView, ReadError> {
        let mut loaded = self.loaded();
        if let Some(index) = loaded.complete.clone().or_else(|| loaded.head.clone()) {
            return Ok(self.with(index));
        }
        if let Some(index) = self.segment.partial_index(folder, Part::Head)?.map(Arc::new) {
            loaded.head = Some(Arc::clone(&index));
            return Ok(self.with(index));
        }
        drop(loaded);
        self.view(folder)
    }

    /// Returns the segment with an index that may have only the objects with a key.
    fn with_key(&self, folder: &Path, kind: KindId, key: &Key) -> Result<SegmentView, ReadError> {
        if !self.is_loaded()
            && let Some(index) = self.segment.partial_index(folder, Part::Object { kind: kind.0, key })?
        {
            return Ok(self.with(Arc::new(index)));
        }
        self.view(folder)
    }

    /// Adds the frames that have been written since the indexes were loaded.
    fn extend(&self) -> Result<(), ReadError> {
        let mut loaded = self.loaded();
        let Loaded { complete, head } = &mut *loaded;
        for index in [complete, head].into_iter().flatten() {
            if self.segment.size()? > index.end {
                self.segment.scan(Arc::make_mut(index))?;
            }
        }
        Ok(())
    }
}

impl ObjectHistory<'_> {
    /// Returns the recorded versions, oldest first, of all objects that had this key. Each object has its own uid.
    ///
    /// The first version is a [checkpoint](Event::Checkpoint) if the object is older than the history.
    ///
    /// # Errors
    /// [`ReadError::Damaged`] if a part of the files is damaged.
    pub fn versions(&self) -> Result<Vec<Version>, ReadError> {
        let mut versions: Vec<Version> = Vec::new();
        for slot in &self.history.segments {
            let view = slot.with_key(&self.history.folder, self.kind, &self.key)?;
            let objects: Vec<_> = view.index.with_key(self.kind.0, &self.key).collect();
            for (id, object) in objects {
                for entry in object.versions.iter() {
                    let is_known = versions.last().is_some_and(|last| last.uid() == &*object.uid);
                    if entry.event == Event::Checkpoint && is_known {
                        continue;
                    }
                    versions.extend(view.version(id, entry)?);
                }
            }
        }
        Ok(versions)
    }

    /// Returns the object at a moment; `None` if it did not exist.
    ///
    /// # Errors
    /// As [`History::at`].
    pub fn at(&self, time: Timestamp) -> Result<Option<Version>, ReadError> {
        let slot = &self.history.segments[self.history.segment_at(time)?];
        let view = slot.with_key(&self.history.folder, self.kind, &self.key)?;
        // Objects are in the order of their creation, so the last one that existed is the one with this key.
        let found = view.index.with_key(self.kind.0, &self.key).filter_map(|(id, object)| {
            let entry = object.versions.at(time.as_microsecond())?;
            (entry.event != Event::Deleted).then_some((id, entry))
        });
        let found = found.last();
        found.map_or(Ok(None), |(id, entry)| view.version(id, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{folder::segment_path, options::RecorderOptions, recorder::Recorder};
    use std::fs;
    use testkit::TempFolder;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn recorded(folder: &TempFolder) -> History {
        let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), START).unwrap();
        recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), START).unwrap();
        recorder.close(START).unwrap();
        History::open(folder.path()).unwrap()
    }

    #[test]
    fn a_refresh_after_the_folder_was_removed_fails_and_changes_nothing() {
        let folder = TempFolder::new("kube-history-refresh");
        let mut history = recorded(&folder);
        fs::remove_dir_all(folder.path()).unwrap();
        for _ in 0..2 {
            assert!(matches!(history.refresh(), Err(ReadError::Empty { .. })));
            assert_eq!(history.span().unwrap().start, START);
            assert!(history.at(START).is_ok());
        }
    }

    #[test]
    fn a_refresh_that_cannot_open_a_segment_fails_and_changes_nothing() {
        let folder = TempFolder::new("kube-history-refresh");
        let mut history = recorded(&folder);
        // A folder can be opened, but not read.
        fs::create_dir(segment_path(folder.path(), 0)).unwrap();
        assert!(matches!(history.refresh(), Err(ReadError::Io { .. })));
        assert_eq!(history.span().unwrap().start, START);
        fs::remove_dir(segment_path(folder.path(), 0)).unwrap();
        history.refresh().unwrap();
        assert_eq!(history.segments.len(), 1);
    }
}
