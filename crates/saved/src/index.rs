//! The contents of a file: the locations of its live objects, and its metadata.

use crate::{
    batch::{Change, Metadata, Object},
    frame::{Frame, FrameReader, Location, NextFrame},
    record::{Record, RecordError, Records},
};
use bytes::Bytes;
use kube_informer_wire::{Key, KeyMap};
use std::{io, time::SystemTime};

/// The state that the committed part of a file amounts to, with the locations of the objects instead of their content.
#[derive(Debug, Default)]
pub(crate) struct Index {
    locations: KeyMap<Location>,
    pub(crate) metadata: Metadata,
    /// The total size of the records of live objects.
    objects_size: u64,
}

impl Index {
    /// Applies a change that is stored at `location`.
    pub(crate) fn apply(&mut self, change: &Change, location: Location) {
        match change {
            Change::Put(object) => {
                self.objects_size += u64::from(location.size);
                let previous = self.locations.insert(object.key.clone(), location);
                self.subtract(previous);
            }
            Change::Delete(key) => {
                let previous = self.locations.remove(key);
                self.subtract(previous);
            }
            Change::Version { source, version } => {
                self.metadata.versions.insert(source.clone(), version.clone());
            }
            Change::Attach { id, bytes } => {
                self.metadata.attachments.insert(*id, bytes.clone());
            }
            Change::Detach { id } => {
                self.metadata.attachments.remove(id);
            }
        }
    }

    fn subtract(&mut self, previous: Option<Location>) {
        self.objects_size -= previous.map_or(0, |previous| u64::from(previous.size));
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.locations.contains_key(key)
    }

    /// Returns the number of live objects.
    pub(crate) fn len(&self) -> usize {
        self.locations.len()
    }

    /// Returns the approximate size of the file after compaction.
    pub(crate) fn live_bytes(&self) -> u64 {
        let attachments: usize = self.metadata.attachments.values().map(Bytes::len).sum();
        self.objects_size + attachments as u64
    }

    /// Returns whether the record at `offset` holds the current content of `key`.
    fn is_live(&self, key: &Key, offset: u64) -> bool {
        self.locations.get(key).is_some_and(|location| location.offset == offset)
    }
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) index: Index,
    pub(crate) objects: Vec<Object>,
    /// The end of the last committed batch.
    pub(crate) end: u64,
}

/// Reads a file up to the last commit before any invalid data.
pub(crate) fn load(mut frames: FrameReader) -> io::Result<Loaded> {
    let mut loader = Loader::default();
    let mut end = frames.position();
    while let NextFrame::Frame(frame) = frames.next()? {
        match loader.read_frame(frame) {
            Ok(FrameEnd::Committed) => end = frames.position(),
            Ok(FrameEnd::Uncommitted) => {}
            Err(RecordError) => break,
        }
    }
    let Loader { index, mut objects, .. } = loader;
    if objects.len() > index.len() {
        objects.retain(|(offset, object)| index.is_live(&object.key, *offset));
    }
    let objects = objects.into_iter().map(|(_, object)| object).collect();
    Ok(Loaded { index, objects, end })
}

#[derive(Default)]
struct Loader {
    index: Index,
    /// All committed objects with the offsets of their records, including those that were replaced or deleted later.
    objects: Vec<(u64, Object)>,
    /// The changes since the last commit.
    uncommitted: Vec<(Change, Location)>,
}

/// Whether a frame ends with a commit.
enum FrameEnd {
    Committed,
    Uncommitted,
}

impl Loader {
    fn read_frame(&mut self, frame: Frame) -> Result<FrameEnd, RecordError> {
        let mut records = Records::new(frame.body);
        loop {
            let start = records.position();
            match records.next()? {
                None => return Ok(FrameEnd::Uncommitted),
                Some(Record::Change(change)) => {
                    let size = u32::try_from(records.position() - start).map_err(|_| RecordError)?;
                    self.uncommitted.push((change, Location { offset: frame.offset + start as u64, size }));
                }
                Some(Record::Commit(at)) => {
                    if records.next()?.is_some() {
                        return Err(RecordError);
                    }
                    self.commit(at);
                    return Ok(FrameEnd::Committed);
                }
            }
        }
    }

    fn commit(&mut self, at: SystemTime) {
        self.index.metadata.saved_at = Some(at);
        let changes = std::mem::take(&mut self.uncommitted);
        self.index.locations.reserve(changes.len());
        self.objects.reserve(changes.len());
        for (change, location) in changes {
            self.index.apply(&change, location);
            if let Change::Put(object) = change {
                self.objects.push((location.offset, object));
            }
        }
    }
}

/// Reads the live objects of a file again, in file order.
#[derive(Debug)]
pub(crate) struct LiveObjects<'a> {
    index: &'a Index,
    frames: FrameReader,
    current: Option<(u64, Records)>,
}

/// The file is corrupt at this offset, or could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the file is corrupt at byte {0}")]
    Corrupt(u64),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl<'a> LiveObjects<'a> {
    pub(crate) fn new(index: &'a Index, frames: FrameReader) -> Self {
        Self { index, frames, current: None }
    }

    fn next_object(&mut self) -> Result<Option<Object>, ReadError> {
        loop {
            let position = self.frames.position();
            let Some((offset, records)) = &mut self.current else {
                match self.frames.next()? {
                    NextFrame::Frame(Frame { offset, body }) => {
                        self.current = Some((offset, Records::new(body)));
                    }
                    NextFrame::End => return Ok(None),
                    NextFrame::Invalid => return Err(ReadError::Corrupt(position)),
                }
                continue;
            };
            let offset = *offset + records.position() as u64;
            match records.next() {
                Ok(Some(Record::Change(Change::Put(object)))) if self.index.is_live(&object.key, offset) => {
                    return Ok(Some(object));
                }
                Ok(Some(Record::Change(_) | Record::Commit(_))) => {}
                Ok(None) => self.current = None,
                Err(RecordError) => return Err(ReadError::Corrupt(position)),
            }
        }
    }
}

impl Iterator for LiveObjects<'_> {
    type Item = Result<Object, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_object().transpose()
    }
}
