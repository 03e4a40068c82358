//! The file of a state: opened, appended to, and written anew.

use crate::{
    batch::{Batch, Change, Snapshot},
    error::{OpenError, SaveError},
    folder::Folder,
    frame::{FrameReader, FrameWriter},
    header::{Difference, Header, MAX_PREAMBLE, NoPreamble, Preamble},
    image::{self, DamagedAt, Image, Live, Place},
    packing::Packer,
    record,
    restored::{Dropped, Restored},
    rewrite::{self, Rest, Rewrite, SAMPLED, Written},
};
use kube_informer_wire::KeyMap;
use std::{
    collections::HashSet,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    time::SystemTime,
};

/// The file of a state, and what is to be known of it to go on writing.
///
/// Every method leaves the file as one that can be read, whether it succeeds or not.
#[derive(Debug)]
pub(crate) struct Log {
    folder: Folder,
    preamble: Preamble,
    file: File,
    /// Where the committed part ends, and the next frame begins.
    end: u64,
    /// What is behind the end is to be cut off first.
    is_dirty: bool,
    /// The disk did not confirm what was written, so nobody knows what is there.
    is_doubtful: bool,
    image: Image,
    packer: Option<Packer>,
    config: Config,
}

/// What a log is to be like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// How hard payloads are packed; not at all if this is nothing.
    pub(crate) level: Option<i32>,
    /// Whether every append waits for the disk.
    pub(crate) sync_appends: bool,
    /// What may be wasted in any case.
    pub(crate) spare_garbage: u64,
    /// Whether an unusable file is given up.
    pub(crate) start_over: bool,
}

/// How large a log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) file: u64,
    pub(crate) live: u64,
    pub(crate) objects: usize,
}

impl Log {
    /// Opens the folder, and reads what is there.
    pub(crate) fn open(path: &Path, header: &Header, config: Config) -> Result<(Self, Restored), OpenError> {
        let folder = Folder::open(path)?;
        let refused = match folder.open_state()? {
            None => None,
            Some(file) => match examine(&folder, &file, header) {
                Ok(preamble) => return Self::resume(folder, file, preamble, config),
                Err(error) if error.is_unusable() && config.start_over => Some(error),
                Err(error) => return Err(error),
            },
        };
        let log = Self::create(folder, header, config)?;
        Ok((log, Restored { refused, ..Restored::default() }))
    }

    /// Begins a file that holds no state yet.
    fn create(folder: Folder, header: &Header, config: Config) -> Result<Self, OpenError> {
        let new = Rewrite { folder: &folder, header, packer: None }.run(std::iter::empty(), Rest::default());
        let written = new.map_err(|error| match error {
            SaveError::Io { doing, cause } => OpenError::Io { path: folder.state(), doing, cause },
            SaveError::TooLarge { .. }
            | SaveError::Damaged { .. }
            | SaveError::Behind
            | SaveError::Stopped => OpenError::HeaderTooLong,
        })?;
        Ok(Self::new(folder, written, config))
    }

    fn new(folder: Folder, written: Written, config: Config) -> Self {
        let Written { preamble, file, end, image } = written;
        let mut packer = config.level.map(Packer::new);
        if let Some(packer) = &mut packer {
            packer.set_dictionary(image.dictionary.clone());
        }
        Self { folder, preamble, file, end, is_dirty: false, is_doubtful: false, image, packer, config }
    }

    /// Goes on with a file that is ours.
    fn resume(
        folder: Folder,
        file: File,
        preamble: Preamble,
        config: Config,
    ) -> Result<(Self, Restored), OpenError> {
        let path = folder.state();
        let length = file.metadata().map_err(OpenError::io(&path, "looking at the file"))?.len();
        let found = file
            .try_clone()
            .and_then(|file| FrameReader::new(file, preamble.seed, preamble.length, length))
            .and_then(image::read);
        let found = found.map_err(OpenError::io(&path, "reading the file"))?;
        let end = found.end;
        let log = Self::new(folder, Written { preamble, file, end, image: found.image }, config);
        let dropped = (length > end).then(|| Dropped { at: end, bytes: length - end });
        if dropped.is_some() {
            // What is behind could pass for the next frames once there are others before it.
            log.file.set_len(end).map_err(OpenError::io(&path, "cutting off what is torn"))?;
        }
        let restored = Restored {
            objects: found.objects,
            versions: log.image.versions.clone(),
            attachments: log.image.attachments.clone(),
            saved_at: log.image.saved_at,
            dropped,
            refused: None,
        };
        Ok((log, restored))
    }

    pub(crate) fn size(&self) -> Size {
        Size { file: self.end, live: self.image.live(), objects: self.image.places.len() }
    }

    /// Whether more of the file is garbage than not, or it is better not to be relied on.
    pub(crate) fn wants_compaction(&self) -> bool {
        let garbage = (self.end - self.preamble.length).saturating_sub(self.image.live());
        self.is_doubtful || garbage > self.image.live() + self.config.spare_garbage
    }

    /// Adds batches, all or none.
    pub(crate) fn append(&mut self, batches: &[Batch], now: SystemTime) -> Result<(), SaveError> {
        if self.is_doubtful || !self.folder.is_in_place(&self.file) {
            self.compact()?;
        }
        let changes = fold(batches);
        check(&changes)?;
        self.learn(&changes);
        if self.is_dirty {
            self.file.set_len(self.end).map_err(SaveError::io("cutting off what was not written whole"))?;
        }
        self.is_dirty = true;
        let (placed, end) = self.write(&changes, now)?;
        if self.config.sync_appends {
            self.is_doubtful = true;
            self.file.sync_data().map_err(SaveError::io("waiting for the disk"))?;
            self.is_doubtful = false;
        }
        self.is_dirty = false;
        self.end = end;
        self.apply(&changes, placed, now);
        Ok(())
    }

    fn write(&mut self, changes: &[&Change], now: SystemTime) -> Result<(Vec<Place>, u64), SaveError> {
        let failed = || SaveError::io("writing");
        let mut placed = Vec::new();
        let mut frames = FrameWriter::new(&mut self.file, self.preamble.seed, self.end).map_err(failed())?;
        let dictionary = self.packer.as_ref().and_then(Packer::dictionary);
        let is_known = rewrite::is_same(dictionary, self.image.dictionary.as_ref());
        if let Some(dictionary) = dictionary.filter(|_| !is_known) {
            frames.record(|out| record::write_dictionary(dictionary, out)).map_err(failed())?;
        }
        for change in changes {
            let written = match change {
                Change::Put(object) => {
                    let (offset, size) = rewrite::put(&mut frames, self.packer.as_mut(), object)?;
                    placed.push(Place::new(offset, size));
                    continue;
                }
                Change::Delete(key) if !self.image.places.contains_key(key) => continue,
                Change::Delete(key) => frames.record(|out| record::write_delete(key, out)),
                Change::Version { part, version } => {
                    frames.record(|out| record::write_source(part, version, out))
                }
                Change::Attach { id, bytes } => frames.record(|out| record::write_attach(*id, bytes, out)),
                Change::Detach { id } => frames.record(|out| record::write_detach(*id, out)),
            };
            written.map_err(failed())?;
        }
        frames.record(|out| record::write_commit(now, out)).map_err(failed())?;
        Ok((placed, frames.finish().map_err(failed())?))
    }

    /// What was written is what there is.
    fn apply(&mut self, changes: &[&Change], placed: Vec<Place>, now: SystemTime) {
        let mut placed = placed.into_iter();
        for change in changes {
            match change {
                Change::Put(object) => {
                    let place = placed.next().expect("each object was placed");
                    self.image.put(object.key.clone(), place);
                }
                Change::Delete(key) => {
                    self.image.delete(key);
                }
                Change::Version { part, version } => {
                    self.image.versions.insert(part.clone(), version.clone());
                }
                Change::Attach { id, bytes } => {
                    self.image.attachments.insert(*id, bytes.clone());
                }
                Change::Detach { id } => {
                    self.image.attachments.remove(id);
                }
            }
        }
        self.image.saved_at = Some(now);
        if let Some(packer) = &self.packer {
            self.image.dictionary = packer.dictionary().cloned();
        }
    }

    /// Makes a dictionary of what is to be written, if there is none and there is enough.
    fn learn(&mut self, changes: &[&Change]) {
        let Some(packer) = &mut self.packer else { return };
        let objects = changes.iter().filter_map(|change| match change {
            Change::Put(object) => Some(object),
            Change::Delete(_) | Change::Version { .. } | Change::Attach { .. } | Change::Detach { .. } => {
                None
            }
        });
        rewrite::learn(packer, objects.clone().step_by(1 + objects.count() / SAMPLED));
    }

    /// Writes the file anew, without what is no longer of use.
    pub(crate) fn compact(&mut self) -> Result<(), SaveError> {
        let reading = || SaveError::io("reading what is there");
        let frames = self
            .file
            .try_clone()
            .and_then(|file| FrameReader::new(file, self.preamble.seed, self.preamble.length, self.end));
        let mut live = Live::new(&self.image, frames.map_err(reading())?);
        let objects = std::iter::from_fn(|| match live.next() {
            Ok(Ok(object)) => object.map(Ok),
            Ok(Err(DamagedAt(at))) => Some(Err(SaveError::Damaged { at })),
            Err(error) => Some(Err(reading()(error))),
        });
        let rest = Rest {
            versions: self.image.versions.clone(),
            attachments: self.image.attachments.clone(),
            saved_at: self.image.saved_at,
        };
        let rewrite =
            Rewrite { folder: &self.folder, header: &self.preamble.header, packer: self.packer.as_mut() };
        let written = rewrite.run(objects, rest)?;
        self.replaced(written);
        Ok(())
    }

    /// Writes a new file of a state that came whole.
    pub(crate) fn replace(&mut self, snapshot: Snapshot, now: SystemTime) -> Result<(), SaveError> {
        let Snapshot { objects, versions, attachments } = snapshot;
        let rewrite =
            Rewrite { folder: &self.folder, header: &self.preamble.header, packer: self.packer.as_mut() };
        let written = rewrite.run(objects.map(Ok), Rest { versions, attachments, saved_at: Some(now) })?;
        self.replaced(written);
        Ok(())
    }

    fn replaced(&mut self, written: Written) {
        let Written { preamble, file, end, image } = written;
        (self.preamble, self.file, self.end, self.image) = (preamble, file, end, image);
        (self.is_dirty, self.is_doubtful) = (false, false);
    }
}

/// Sees whether a file is one of ours, and of the state that is asked for.
fn examine(folder: &Folder, mut file: &File, wanted: &Header) -> Result<Preamble, OpenError> {
    let path = folder.state();
    let mut bytes = Vec::new();
    let read =
        file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MAX_PREAMBLE as u64).read_to_end(&mut bytes));
    read.map_err(OpenError::io(&path, "reading the file"))?;
    let preamble = match Preamble::read(&bytes) {
        Ok(preamble) => preamble,
        Err(NoPreamble::Foreign) => return Err(OpenError::Foreign { path }),
        Err(NoPreamble::Newer(found)) => return Err(OpenError::Newer { path, found }),
        Err(NoPreamble::Damaged(what)) => return Err(OpenError::Damaged { path, what }),
    };
    match Header::difference(&preamble.header, wanted) {
        None => Ok(preamble),
        Some(Difference { field, saved, wanted }) => Err(OpenError::Mismatch { path, field, saved, wanted }),
    }
}

/// What is left of batches that are saved together: the last change of each thing, in order.
fn fold(batches: &[Batch]) -> Vec<&Change> {
    let mut keys: KeyMap<()> = KeyMap::default();
    let (mut parts, mut ids) = (HashSet::new(), HashSet::new());
    let mut last = Vec::new();
    for change in batches.iter().rev().flat_map(|batch| batch.changes().iter().rev()) {
        let is_last = match change {
            Change::Put(object) => keys.insert(object.key.clone(), ()).is_none(),
            Change::Delete(key) => keys.insert(key.clone(), ()).is_none(),
            Change::Version { part, .. } => parts.insert(part),
            Change::Attach { id, .. } | Change::Detach { id } => ids.insert(id),
        };
        if is_last {
            last.push(change);
        }
    }
    last.reverse();
    last
}

/// Refuses what could not be read back; objects are looked at when they are packed.
fn check(changes: &[&Change]) -> Result<(), SaveError> {
    for change in changes {
        match change {
            Change::Version { part, .. } => rewrite::check_parts([part])?,
            Change::Attach { id, bytes } => rewrite::check_attachments([(id, bytes)])?,
            Change::Put(_) | Change::Delete(_) | Change::Detach { .. } => {}
        }
    }
    Ok(())
}
