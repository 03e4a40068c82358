//! Reads the changes of a segment with the states before and after them, each state decompressed once, on all cores.

use crate::{
    compression::Base,
    error::ReadError,
    index::VersionEntry,
    live::raw_of,
    record::{ChangeHead, Event, Layout, Reference},
    segment::{BodyInfo, Cache},
    view::{SegmentView, Version},
};
use bytes::Bytes;
use kube_informer_wire::{Raw, ResourceVersion};
use std::{num::NonZero, panic::resume_unwind, thread};

/// A change with the states before and after it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Transition<'t> {
    /// The version after the change.
    pub version: &'t Version,
    /// The state before the change; `None` for the first version of an object, and if it is damaged.
    pub before: Option<&'t Raw>,
    /// The state after the change, for a deletion the last known state; `None` if it is damaged.
    pub after: Option<&'t Raw>,
}

/// Reads the changes of segments.
pub(crate) struct TransitionReader<R, B> {
    from: i64,
    to: i64,
    /// The number of changes that are read together: few at first, so that the first ones are available soon.
    ///
    /// The versions of an object are read one after another. The first one in a batch needs all versions that it is compressed against,
    /// so that large batches need less work.
    batch_size: usize,
    read: R,
    on_batch: B,
}

/// The sizes of the first and of the largest batches.
const FIRST_BATCH: usize = 1_000;
const MAX_BATCH: usize = 1 << 18;
/// The minimum number of changes for one thread.
const MIN_SHARE: usize = 64;

/// Changes of a segment that are read together.
struct Batch<'v> {
    view: &'v SegmentView,
    changes: Vec<PendingChange>,
}

/// A change whose object is not decompressed yet.
struct PendingChange {
    entry: VersionEntry,
    head: ChangeHead,
    version: Option<ResourceVersion>,
    body: Option<BodyInfo>,
}

/// A state of an object.
#[derive(Clone)]
struct State {
    /// The position of its record.
    offset: u64,
    layout: Layout,
    bytes: Bytes,
}

/// Reads the states of objects on one thread.
struct StateReader<'v> {
    view: &'v SegmentView,
    cache: Cache,
    /// The last state of the current object, and another one that later versions are compressed against.
    last: Option<State>,
    base: Option<State>,
}

impl<R, B> TransitionReader<R, B> {
    /// Creates a reader of the changes after `from` up to and including `to`.
    pub(crate) fn new(from: i64, to: i64, read: R, on_batch: B) -> Self {
        Self { from, to, batch_size: FIRST_BATCH, read, on_batch }
    }

    /// Reads the changes of a segment, and passes the results to `on_batch` in the recorded order.
    ///
    /// Damaged frames are skipped: they are gaps.
    pub(crate) fn read_segment<T>(&mut self, view: &SegmentView) -> Result<(), ReadError>
    where
        T: Send,
        R: Fn(Transition<'_>) -> T + Sync,
        B: FnMut(Vec<T>),
    {
        let frames = &view.index.frames;
        // The frame before the first one that starts after `from` may have changes after it.
        let first = frames.partition_point(|frame| frame.time <= self.from).saturating_sub(1);
        let mut batch = Batch { view, changes: Vec::new() };
        for frame in frames[first..].iter().take_while(|frame| frame.time <= self.to) {
            let is_in_range = |time| self.from < time && time <= self.to;
            match batch.add_frame(frame.offset, is_in_range) {
                Ok(()) | Err(ReadError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
            if batch.changes.len() >= self.batch_size {
                (self.on_batch)(batch.read(&self.read));
                batch.changes.clear();
                self.batch_size = (self.batch_size * 2).min(MAX_BATCH);
            }
        }
        if !batch.changes.is_empty() {
            (self.on_batch)(batch.read(&self.read));
        }
        Ok(())
    }
}

impl Batch<'_> {
    fn add_frame(&mut self, offset: u64, is_in_range: impl Fn(i64) -> bool) -> Result<(), ReadError> {
        let Self { view, changes } = self;
        view.segment.changes_of_frame(offset, |offset, change| {
            let ChangeHead { time, event, object, .. } = change.head;
            if is_in_range(time) && event != Event::Checkpoint && view.index.object(object).is_some() {
                changes.push(PendingChange {
                    entry: VersionEntry { time, offset, event },
                    head: change.head,
                    version: change.version,
                    body: change.body.map(BodyInfo::of),
                });
            }
        })
    }

    /// Calls `read` for each change, object by object, on all cores. Returns the results in the order of the changes.
    fn read<T: Send>(&self, read: &(impl Fn(Transition<'_>) -> T + Sync)) -> Vec<T> {
        let object = |position: &usize| self.changes[*position].head.object;
        let mut order: Vec<usize> = (0..self.changes.len()).collect();
        // Stable: the changes of an object stay in their order.
        order.sort_by_key(object);
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let share = order.len().div_ceil(cores).max(MIN_SHARE);
        let mut shares: Vec<&[usize]> = Vec::new();
        let mut rest = &order[..];
        while !rest.is_empty() {
            let mut end = share.min(rest.len());
            while end < rest.len() && object(&rest[end]) == object(&rest[end - 1]) {
                end += 1;
            }
            let (next, after) = rest.split_at(end);
            shares.push(next);
            rest = after;
        }
        let read_share = |positions: &[usize]| {
            let mut reader = StateReader::new(self.view);
            let objects = positions.chunk_by(|a, b| object(a) == object(b));
            let changes = objects.flat_map(|object| {
                reader.start_object(&self.changes[object[0]]);
                let read = |position: &usize| Some((*position, reader.read(&self.changes[*position], read)?));
                object.iter().filter_map(read).collect::<Vec<_>>()
            });
            changes.collect::<Vec<_>>()
        };
        let read_share = &read_share;
        let Some((own, others)) = shares.split_first() else { return Vec::new() };
        let found = thread::scope(|scope| {
            let threads: Vec<_> =
                others.iter().map(|positions| scope.spawn(move || read_share(positions))).collect();
            let mut found = vec![read_share(own)];
            found.extend(
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))),
            );
            found
        });
        let mut results: Vec<Option<T>> = Vec::new();
        results.resize_with(self.changes.len(), || None);
        found.into_iter().flatten().for_each(|(position, result)| results[position] = Some(result));
        results.into_iter().flatten().collect()
    }
}

impl<'v> StateReader<'v> {
    fn new(view: &'v SegmentView) -> Self {
        Self { view, cache: Cache::new(), last: None, base: None }
    }

    /// Reads the state before the first change of an object.
    fn start_object(&mut self, change: &PendingChange) {
        (self.last, self.base) = (None, None);
        let Some(object) = self.view.index.object(change.head.object) else { return };
        let mut offset = change.entry.offset;
        while let Some(entry) = object.versions.before(offset) {
            match self.state_at(entry.offset) {
                // A deletion that was found by a list has no state.
                Ok(None) => offset = entry.offset,
                Ok(last) => return self.last = last,
                Err(_) => return,
            }
        }
    }

    /// Calls a function for a change; returns `None` if the kind of the object is damaged.
    fn read<T>(&mut self, change: &PendingChange, read: &impl Fn(Transition<'_>) -> T) -> Option<T> {
        let PendingChange { entry, head, version, body } = change;
        let version = self.view.version_of(*entry, *head, version.clone())?;
        let raw = |state: &State| raw_of(version.kind(), state.layout, state.bytes.clone());
        let before = self.last.take();
        let after = match body {
            Some(body) => self.decompress(body, entry.offset, before.as_ref()),
            None => before.clone(),
        };
        let (raw_before, raw_after) = (before.as_ref().and_then(raw), after.as_ref().and_then(raw));
        self.last = after.or(before);
        Some(read(Transition { version: &version, before: raw_before.as_ref(), after: raw_after.as_ref() }))
    }

    /// Decompresses the object of a record; `None` if it is damaged.
    fn decompress(&mut self, body: &BodyInfo, offset: u64, before: Option<&State>) -> Option<State> {
        let Self { view, cache, .. } = self;
        let BodyInfo { layout, reference, compressed } = body;
        let bytes = match *reference {
            Reference::Record(position) => {
                let known = [before, self.base.as_ref()].into_iter().flatten();
                let known =
                    known.filter(|state| state.offset == position).map(|state| state.bytes.clone()).next();
                let base = match known {
                    Some(bytes) => bytes,
                    None => {
                        let base = self.state_at(position).ok()??;
                        self.base.insert(base).bytes.clone()
                    }
                };
                self.cache.decompress(compressed, Base::Version(&base))?
            }
            Reference::None => cache.decompress(compressed, Base::None)?,
            Reference::Dictionary => view.segment.object_with(cache, &view.index, offset).ok()??.1.into(),
        };
        Some(State { offset, layout: *layout, bytes: bytes.into() })
    }

    /// Reads the object of a record with all records that it is compressed against; `None` if it has none.
    fn state_at(&mut self, offset: u64) -> Result<Option<State>, ReadError> {
        let found = self.view.segment.object_with(&mut self.cache, &self.view.index, offset)?;
        Ok(found.map(|(layout, bytes)| State { offset, layout, bytes }))
    }
}
