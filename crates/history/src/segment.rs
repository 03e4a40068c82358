//! A segment: one file with a checkpoint of all objects and the changes after it.

use crate::{
    compression::{Base, Decoder, Dictionary},
    encoding::Input,
    error::ReadError,
    folder::{index_path, segment_path},
    frame::{self, FrameScanner, HEAD, Scanned},
    index::SegmentIndex,
    record::{self, Body, ChangeHead, ChangeRecord, FrameBase, Layout, Record, Reference},
    stored_index::{Part, StoredIndex},
};
use bytes::Bytes;
use kube_informer_wire::ResourceVersion;
use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use twox_hash::XxHash3_64;

/// The format that this version writes and reads.
pub(crate) const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"KUBEHIST";

/// The size of an encoded preamble.
pub(crate) const PREAMBLE: usize = 44;

/// The maximum size of the frames that a segment keeps in memory.
const MAX_CACHED: usize = 16 << 20;

/// The maximum number of records that a version is reconstructed from. The recorder writes shorter chains.
const MAX_CHAIN: usize = 1_000;

/// The start of a segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    /// The time of the checkpoint, in microseconds since 1970.
    pub(crate) started: i64,
}

/// An open segment file.
#[derive(Debug)]
pub(crate) struct Segment {
    path: PathBuf,
    file: File,
    preamble: Preamble,
    cache: Mutex<Cache>,
}

/// Frames in memory, with the decoder of their objects. A segment has one that its readers share; a thread may have its own.
#[derive(Debug)]
pub(crate) struct Cache {
    frames: HashMap<u64, Arc<[u8]>>,
    order: VecDeque<u64>,
    bytes: usize,
    dictionaries: HashMap<u32, Arc<Dictionary>>,
    decoder: Decoder,
}

/// The header of a change, and where its object is.
#[derive(Clone, Debug)]
pub(crate) struct ChangeInfo {
    pub(crate) head: ChangeHead,
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) body: Option<BodyInfo>,
}

#[derive(Clone, Debug)]
pub(crate) struct BodyInfo {
    pub(crate) layout: Layout,
    pub(crate) reference: Reference,
    pub(crate) compressed: Bytes,
}

impl Cache {
    pub(crate) fn new() -> Self {
        Self {
            frames: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            dictionaries: HashMap::new(),
            decoder: Decoder::new(),
        }
    }

    /// Decompresses an object; `None` if it is damaged.
    pub(crate) fn decompress(&mut self, compressed: &[u8], base: Base<'_>) -> Option<Vec<u8>> {
        self.decoder.decompress(compressed, base)
    }
}

impl BodyInfo {
    pub(crate) fn of(body: Body<'_>) -> Self {
        let Body { layout, reference, compressed } = body;
        Self { layout, reference, compressed: Bytes::copy_from_slice(compressed) }
    }
}

impl Preamble {
    pub(crate) fn encode(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.seed.to_le_bytes());
        out.extend_from_slice(&self.started.to_le_bytes());
        let checksum = XxHash3_64::oneshot(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; PREAMBLE], path: &Path) -> Result<Self, ReadError> {
        let invalid = || ReadError::InvalidSegment { path: path.into() };
        let mut input = Input::new(bytes);
        let mut eight = || {
            let bytes = input.take(8).ok().and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
            bytes.ok_or_else(invalid)
        };
        if eight()? != *MAGIC {
            return Err(invalid());
        }
        // Every format has a preamble of this size with this checksum.
        let [.., c0, c1, c2, c3, c4, c5, c6, c7] = *bytes;
        if XxHash3_64::oneshot(&bytes[..PREAMBLE - 8]) != u64::from_le_bytes([c0, c1, c2, c3, c4, c5, c6, c7])
        {
            return Err(invalid());
        }
        let [f0, f1, f2, f3, ..] = bytes[8..] else { return Err(invalid()) };
        let found = u32::from_le_bytes([f0, f1, f2, f3]);
        if found != FORMAT {
            return Err(ReadError::UnsupportedFormat { path: path.into(), found, supported: FORMAT });
        }
        let mut input = Input::at(bytes, 12);
        let mut eight = || {
            let bytes = input.take(8).ok().and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
            bytes.ok_or_else(invalid)
        };
        Ok(Self {
            number: u64::from_le_bytes(eight()?),
            seed: u64::from_le_bytes(eight()?),
            started: i64::from_le_bytes(eight()?),
        })
    }
}

impl Segment {
    /// Opens a segment for reading, or for appending if the caller has locked the folder.
    pub(crate) fn open(folder: &Path, number: u64, access: Access) -> Result<Self, ReadError> {
        let path = segment_path(folder, number);
        let mut options = File::options();
        options.read(true).write(access == Access::Append);
        let file = options.open(&path).map_err(ReadError::io("open", &path))?;
        let mut bytes = [0; PREAMBLE];
        match frame::read_exact_at(&file, &mut bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(ReadError::InvalidSegment { path });
            }
            other => other.map_err(ReadError::io("read", &path))?,
        }
        let preamble = Preamble::decode(&bytes, &path)?;
        Ok(Self::new(path, file, preamble))
    }

    pub(crate) fn new(path: PathBuf, file: File, preamble: Preamble) -> Self {
        Self { path, file, preamble, cache: Mutex::new(Cache::new()) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn preamble(&self) -> Preamble {
        self.preamble
    }

    /// Returns the size of the file.
    pub(crate) fn size(&self) -> Result<u64, ReadError> {
        Ok(self.file.metadata().map_err(ReadError::io("read the metadata of", &self.path))?.len())
    }

    /// Returns the stored index with the frames that were written since, or creates it by scanning the segment.
    pub(crate) fn index(&self, folder: &Path) -> Result<SegmentIndex, ReadError> {
        match self.partial_index(folder, Part::All)? {
            Some(index) => Ok(index),
            None => self.verified_index(folder),
        }
    }

    /// Returns the stored index with some of its objects, and the frames that were written since; `None` if it is missing or damaged.
    pub(crate) fn partial_index(
        &self,
        folder: &Path,
        part: Part<'_>,
    ) -> Result<Option<SegmentIndex>, ReadError> {
        let stored = self.stored_index(folder).and_then(|stored| stored.read(part).ok());
        let Some(mut index) = stored else { return Ok(None) };
        if index.end > self.size()? {
            return Ok(None);
        }
        self.scan(&mut index)?;
        Ok(Some(index))
    }

    /// Creates the index by scanning the segment, which checks all of it.
    pub(crate) fn verified_index(&self, folder: &Path) -> Result<SegmentIndex, ReadError> {
        let mut index = SegmentIndex::new(PREAMBLE as u64, self.preamble.started);
        self.scan(&mut index)?;
        let stored = self.stored_index(folder).and_then(|stored| stored.read(Part::Head).ok());
        // The segment was truncated after its index was stored.
        if stored.is_some_and(|stored| stored.end > index.end) {
            index.add_damage();
        }
        Ok(index)
    }

    fn stored_index(&self, folder: &Path) -> Option<StoredIndex> {
        StoredIndex::open(&index_path(folder, self.preamble.number), self.preamble.seed)
    }

    /// Adds the frames after the end of the index.
    pub(crate) fn scan(&self, index: &mut SegmentIndex) -> Result<(), ReadError> {
        let size = self.size()?;
        let mut scanner = FrameScanner::new(&self.file, self.preamble.seed, index.end, size);
        loop {
            match scanner.next() {
                Ok(Scanned::Frame { offset, body }) => {
                    if index.apply(offset, &body).is_err() {
                        index.add_damage();
                    }
                }
                Ok(Scanned::Damaged(_)) => index.add_damage(),
                Ok(Scanned::End) => break,
                // The recorder has removed a partly written frame.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(ReadError::io("read", &self.path)(error)),
            }
        }
        index.end = index.end.max(scanner.position().min(size));
        Ok(())
    }

    /// Reads the header of the change at `offset`, and its compressed object.
    pub(crate) fn change(&self, index: &SegmentIndex, offset: u64) -> Result<ChangeInfo, ReadError> {
        self.with_change(&mut self.cache(), index, offset, |change| ChangeInfo {
            head: change.head,
            version: change.version,
            body: change.body.map(BodyInfo::of),
        })
    }

    /// Reads the object of the change at `offset`; `None` if the change has none.
    pub(crate) fn object(
        &self,
        index: &SegmentIndex,
        offset: u64,
    ) -> Result<Option<(Layout, Bytes)>, ReadError> {
        self.object_with(&mut self.cache(), index, offset)
    }

    /// Reads the object of the change at `offset` as [`object`](Self::object) does, with a cache of the caller.
    pub(crate) fn object_with(
        &self,
        cache: &mut Cache,
        index: &SegmentIndex,
        offset: u64,
    ) -> Result<Option<(Layout, Bytes)>, ReadError> {
        let mut chain: Vec<Vec<u8>> = Vec::new();
        let mut layout = None;
        let mut position = offset;
        let mut kind = 0;
        let base = loop {
            let read = self.with_change(cache, index, position, |change| {
                let body = change.body?;
                Some((change.head.object, body.layout, body.reference, body.compressed.to_vec()))
            })?;
            let Some((object, body_layout, reference, compressed)) = read else {
                return if chain.is_empty() { Ok(None) } else { Err(self.damaged(position)) };
            };
            layout.get_or_insert(body_layout);
            chain.push(compressed);
            kind = index.object(object).map_or(kind, |object| object.kind);
            match reference {
                Reference::Record(previous) if chain.len() < MAX_CHAIN => position = previous,
                Reference::Record(_) => return Err(self.damaged(position)),
                other @ (Reference::None | Reference::Dictionary) => break other,
            }
        };
        let first = chain.pop().expect("the chain has at least one version");
        let mut object = match base {
            Reference::Dictionary => {
                let dictionary = self.dictionary(cache, index, kind)?;
                cache.decoder.decompress_with(&first, &dictionary)
            }
            Reference::None | Reference::Record(_) => cache.decoder.decompress(&first, Base::None),
        };
        for compressed in chain.iter().rev() {
            let previous = object.ok_or_else(|| self.damaged(offset))?;
            object = cache.decoder.decompress(compressed, Base::Version(&previous));
        }
        let object = object.ok_or_else(|| self.damaged(offset))?;
        Ok(layout.map(|layout| (layout, object.into())))
    }

    /// Returns the position of the first version in the chain of the version at `offset`.
    pub(crate) fn first_of_chain(&self, index: &SegmentIndex, offset: u64) -> Result<u64, ReadError> {
        let mut position = offset;
        for _ in 0..MAX_CHAIN {
            let change = self.change(index, position)?;
            match change.body.map(|body| body.reference) {
                Some(Reference::Record(previous)) => position = previous,
                Some(Reference::None | Reference::Dictionary) | None => return Ok(position),
            }
        }
        Err(self.damaged(offset))
    }

    /// Reads the dictionary of a kind; `None` if this segment has none.
    pub(crate) fn dictionary_of(
        &self,
        index: &SegmentIndex,
        kind: u32,
    ) -> Result<Option<Arc<Dictionary>>, ReadError> {
        if !index.dictionaries.contains_key(&kind) {
            return Ok(None);
        }
        self.dictionary(&mut self.cache(), index, kind).map(Some)
    }

    /// Calls a function for each change in a frame, with its position.
    pub(crate) fn changes_of_frame(
        &self,
        offset: u64,
        mut on_change: impl FnMut(u64, ChangeRecord<'_>),
    ) -> Result<(), ReadError> {
        let body = self.frame(&mut self.cache(), offset)?;
        let base = FrameBase::read(&body).map_err(|_| self.damaged(offset))?;
        let body_offset = offset + HEAD as u64;
        let mut input = Input::at(&body, record::FRAME_BASE);
        while !input.is_empty() {
            let position = body_offset + input.position() as u64;
            let record = record::read(&mut input, base, body_offset).map_err(|_| self.damaged(position))?;
            if let Record::Change(change) = record {
                on_change(position, change);
            }
        }
        Ok(())
    }

    fn dictionary(
        &self,
        cache: &mut Cache,
        index: &SegmentIndex,
        kind: u32,
    ) -> Result<Arc<Dictionary>, ReadError> {
        if let Some(dictionary) = cache.dictionaries.get(&kind) {
            return Ok(Arc::clone(dictionary));
        }
        let offset = *index.dictionaries.get(&kind).ok_or_else(|| self.damaged(index.end))?;
        let dictionary = self.with_record(cache, index, offset, |record| {
            if let Record::Dictionary { content, .. } = record { Dictionary::new(content) } else { None }
        })?;
        let dictionary = Arc::new(dictionary.ok_or_else(|| self.damaged(offset))?);
        cache.dictionaries.insert(kind, Arc::clone(&dictionary));
        Ok(dictionary)
    }

    fn with_change<R>(
        &self,
        cache: &mut Cache,
        index: &SegmentIndex,
        offset: u64,
        take: impl FnOnce(ChangeRecord<'_>) -> R,
    ) -> Result<R, ReadError> {
        let taken = self.with_record(cache, index, offset, |record| {
            if let Record::Change(change) = record { Some(take(change)) } else { None }
        })?;
        taken.ok_or_else(|| self.damaged(offset))
    }

    fn with_record<R>(
        &self,
        cache: &mut Cache,
        index: &SegmentIndex,
        offset: u64,
        take: impl FnOnce(Record<'_>) -> R,
    ) -> Result<R, ReadError> {
        let damaged = || self.damaged(offset);
        let entry = index.frame_at(offset).ok_or_else(damaged)?;
        let body = self.frame(cache, entry.offset)?;
        let base = FrameBase::read(&body).map_err(|_| damaged())?;
        let body_offset = entry.offset + HEAD as u64;
        let position = usize::try_from(offset.checked_sub(body_offset).ok_or_else(damaged)?);
        let mut input = Input::at(&body, position.map_err(|_| damaged())?);
        let record = record::read(&mut input, base, body_offset).map_err(|_| damaged())?;
        Ok(take(record))
    }

    /// Reads and verifies a frame, unless it is in memory.
    fn frame(&self, cache: &mut Cache, offset: u64) -> Result<Arc<[u8]>, ReadError> {
        if let Some(body) = cache.frames.get(&offset) {
            return Ok(Arc::clone(body));
        }
        let body = frame::read(&self.file, self.preamble.seed, offset, self.size()?)
            .map_err(ReadError::io("read", &self.path))?;
        let body: Arc<[u8]> = body.ok_or_else(|| self.damaged(offset))?.into();
        cache.bytes += body.len();
        cache.frames.insert(offset, Arc::clone(&body));
        cache.order.push_back(offset);
        while cache.bytes > MAX_CACHED && cache.order.len() > 1 {
            let oldest = cache.order.pop_front().and_then(|oldest| cache.frames.remove(&oldest));
            cache.bytes -= oldest.map_or(0, |frame| frame.len());
        }
        Ok(body)
    }

    fn damaged(&self, offset: u64) -> ReadError {
        ReadError::Damaged { path: self.path.clone(), offset }
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a segment is opened for appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Append,
}
