//! The segment that is written: records are collected in a frame, which is appended to the file.

use crate::{
    error::RecordError,
    folder::{Folder, index_name, segment_name, segment_path},
    frame::{self, HEAD},
    index::SegmentIndex,
    record::{self, FrameBase, Record},
    segment::{PREAMBLE, Preamble, Segment},
    stored_index,
};
use kube_informer_wire::rng;
use std::{
    collections::HashMap,
    io::{self, Seek, SeekFrom, Write},
    sync::Arc,
};

/// The segment that is written.
#[derive(Debug)]
pub(crate) struct ActiveSegment {
    pub(crate) segment: Segment,
    /// The index of the written frames.
    pub(crate) index: SegmentIndex,
    frame: Vec<u8>,
    base: FrameBase,
    /// The file may have a partly written frame after its end.
    has_partial_write: bool,
    has_unsynced_data: bool,
    managers: HashMap<Arc<str>, u32>,
    next_object: u32,
    /// The position up to which the index is stored.
    indexed: u64,
    /// The size of the stored index.
    index_size: u64,
}

/// The index of the current segment is stored up to this many times before the segment is full, so that readers scan only a part of
/// it.
const INDEXES_PER_SEGMENT: u64 = 32;

impl ActiveSegment {
    /// Creates a segment that has no final name yet.
    pub(crate) fn create(folder: &Folder, number: u64, started: i64) -> Result<Self, RecordError> {
        let preamble = Preamble { number, seed: rng::next_u64(), started };
        let path = segment_path(folder.path(), number);
        let mut file = folder.create_next().map_err(RecordError::io("create", &path))?;
        file.write_all(&preamble.encode()).map_err(RecordError::io("write", &path))?;
        let index = SegmentIndex::new(PREAMBLE as u64, started);
        Ok(Self::new(Segment::new(path, file, preamble), index))
    }

    /// Continues an existing segment: removes a partly written frame.
    pub(crate) fn resume(segment: Segment, index: SegmentIndex) -> Result<Self, RecordError> {
        if segment.size()? > index.end {
            segment.file().set_len(index.end).map_err(RecordError::io("truncate", segment.path()))?;
        }
        Ok(Self::new(segment, index))
    }

    fn new(segment: Segment, index: SegmentIndex) -> Self {
        let managers = (1..).zip(&index.managers).map(|(id, name)| (Arc::clone(name), id)).collect();
        let next_object = u32::try_from(index.objects.len()).expect("objects have 32-bit numbers");
        Self {
            segment,
            frame: Vec::new(),
            base: FrameBase { time: 0, version: 0 },
            has_partial_write: false,
            has_unsynced_data: false,
            managers,
            next_object,
            indexed: PREAMBLE as u64,
            index_size: 0,
            index,
        }
    }

    /// Adds a record to the current frame and returns its position in the segment.
    pub(crate) fn push(&mut self, record: &Record<'_>, base: FrameBase) -> u64 {
        if self.frame.is_empty() {
            self.base = base;
            self.frame.resize(HEAD, 0);
            base.write(&mut self.frame);
        }
        let position = self.index.end + self.frame.len() as u64;
        record::write(record, self.base, position, &mut self.frame);
        position
    }

    /// Returns the number of a field manager, which is defined first if it is new.
    pub(crate) fn manager(&mut self, name: &str, base: FrameBase) -> u32 {
        if let Some(id) = self.managers.get(name) {
            return *id;
        }
        let id = u32::try_from(self.managers.len() + 1).expect("managers have 32-bit numbers");
        self.managers.insert(name.into(), id);
        self.push(&Record::Manager { id, name }, base);
        id
    }

    /// Returns an unused object number.
    pub(crate) fn next_object(&mut self) -> u32 {
        let id = self.next_object;
        self.next_object += 1;
        id
    }

    /// Returns the size of the current frame.
    pub(crate) fn pending(&self) -> usize {
        self.frame.len()
    }

    /// Returns the size of the changes after the checkpoint.
    pub(crate) fn changes_size(&self) -> u64 {
        self.index.end - self.checkpoint_end()
    }

    /// Returns the size of the checkpoint.
    pub(crate) fn checkpoint_size(&self) -> u64 {
        self.checkpoint_end() - PREAMBLE as u64
    }

    fn checkpoint_end(&self) -> u64 {
        self.index.checkpoint_end.unwrap_or(self.index.end)
    }

    /// Completes the checkpoint and gives the new segment its final name.
    pub(crate) fn publish(&mut self, folder: &Folder, base: FrameBase) -> Result<(), RecordError> {
        self.push(&Record::CheckpointEnded, base);
        self.write()?;
        let name = segment_name(self.segment.preamble().number);
        let published = folder.rename_next(self.segment.file(), &name);
        published.map_err(RecordError::io("create", self.segment.path()))
    }

    /// Appends the current frame to the file. If this fails, the frame is retained.
    pub(crate) fn write(&mut self) -> Result<(), RecordError> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let position = self.index.end;
        frame::seal(self.segment.preamble().seed, position, &mut self.frame);
        self.append(position).map_err(RecordError::io("write", self.segment.path()))?;
        self.has_partial_write = false;
        self.has_unsynced_data = true;
        self.index.apply(position, &self.frame[HEAD..]).expect("the recorder writes valid records");
        self.frame.clear();
        Ok(())
    }

    fn append(&mut self, position: u64) -> io::Result<()> {
        let mut file = self.segment.file();
        if self.has_partial_write {
            file.set_len(position)?;
        }
        self.has_partial_write = true;
        file.seek(SeekFrom::Start(position))?;
        file.write_all(&self.frame)
    }

    /// Makes all written frames durable.
    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        if self.has_unsynced_data {
            let synced = self.segment.file().sync_data();
            synced.map_err(RecordError::io("sync", self.segment.path()))?;
            self.has_unsynced_data = false;
        }
        Ok(())
    }

    /// Returns whether the index should be stored again. Readers scan the frames that it lacks, so these are limited to a part of the
    /// maximum size of a segment, or to half the size of the index if that is larger: storing it at most triples the written bytes.
    pub(crate) fn is_index_outdated(&self, segment_size: u64) -> bool {
        self.index.end - self.indexed >= (segment_size / INDEXES_PER_SEGMENT).max(self.index_size / 2)
    }

    /// Stores the index of the written frames, which must be durable. Readers scan the segment if this fails.
    pub(crate) fn store_index(&mut self, folder: &Folder) -> io::Result<()> {
        self.indexed = self.index.end;
        let encoded = stored_index::encode(&self.index, self.segment.preamble().seed);
        self.index_size = encoded.len() as u64;
        let mut file = folder.create_next()?;
        file.write_all(&encoded)?;
        folder.rename_next(&file, &index_name(self.segment.preamble().number))
    }

    /// Reads the object of the change at `offset`, which may be in the current frame.
    pub(crate) fn object(&mut self, offset: u64) -> Result<Option<StoredBytes>, RecordError> {
        if offset >= self.index.end {
            self.write()?;
        }
        let object = self.segment.object(&self.index, offset)?;
        Ok(object.map(|(layout, bytes)| StoredBytes { layout, bytes }))
    }

    /// Returns the position of the first version in the chain of the version at `offset`.
    pub(crate) fn first_of_chain(&mut self, offset: u64) -> Result<u64, RecordError> {
        if offset >= self.index.end {
            self.write()?;
        }
        Ok(self.segment.first_of_chain(&self.index, offset)?)
    }

    /// Returns whether a part of the existing segment was damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.index.damaged_since.is_some() || self.index.checkpoint_end.is_none()
    }
}

/// An object as it was received.
#[derive(Clone, Debug)]
pub(crate) struct StoredBytes {
    pub(crate) layout: record::Layout,
    pub(crate) bytes: bytes::Bytes,
}
