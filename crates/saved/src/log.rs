//! The log of a state: opened, appended to and compacted.

use crate::{
    batch::{Batch, Change, Metadata, Object, Snapshot},
    error::{OpenError, SaveError},
    folder::Folder,
    frame::{FrameReader, FrameWriter, Location},
    header::{Difference, Header, MAX_PREAMBLE, Preamble, PreambleError},
    index::{self, LiveObjects, ReadError},
    record,
    restored::{Restored, Truncated},
    state_file::{StateFile, write_change},
};
use kube_informer_wire::{KeyMap, rng};
use std::{
    collections::HashSet,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

/// The state file and its contents.
///
/// Every method leaves a readable file behind, whether it succeeds or fails.
#[derive(Debug)]
pub(crate) struct Log {
    folder: Folder,
    current: StateFile,
    /// The file may contain a partly written batch after its end.
    has_partial_write: bool,
    /// A sync failed, so the content on disk is unknown.
    sync_failed: bool,
    config: Config,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Whether every append is synced to disk.
    pub(crate) sync_appends: bool,
    /// The minimum amount of garbage before a compaction.
    pub(crate) compaction_threshold: u64,
    /// Whether an unusable file is discarded.
    pub(crate) start_over: bool,
}

/// The size of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogSize {
    pub(crate) file: u64,
    pub(crate) live: u64,
    pub(crate) objects: usize,
}

impl Log {
    /// Opens the folder and restores its state.
    pub(crate) fn open(path: &Path, header: &Header, config: Config) -> Result<(Self, Restored), OpenError> {
        let folder = Folder::open(path)?;
        let discarded = match folder.open_state()? {
            None => None,
            Some(file) => match read_preamble(&folder, &file, header) {
                Ok(preamble) => return Self::resume(folder, file, preamble, config),
                Err(error) if error.is_unusable() && config.start_over => Some(error),
                Err(error) => return Err(error),
            },
        };
        let log = Self::create(folder, header, config)?;
        Ok((log, Restored { discarded, ..Restored::default() }))
    }

    /// Creates a file without a state.
    fn create(folder: Folder, header: &Header, config: Config) -> Result<Self, OpenError> {
        let preamble = Preamble::new(header.clone(), rng::next_u64()).ok_or(OpenError::HeaderTooLong)?;
        let created = StateFile::create(&folder, preamble, std::iter::empty(), Metadata::default());
        let current = created.map_err(|error| match error {
            SaveError::Io { action, source } => OpenError::Io { path: folder.state(), action, source },
            other @ (SaveError::TooLarge { .. }
            | SaveError::Corrupt { .. }
            | SaveError::QueueFull
            | SaveError::Stopped) => {
                OpenError::io(folder.state(), "write a new file")(io::Error::other(other))
            }
        })?;
        Ok(Self { folder, current, has_partial_write: false, sync_failed: false, config })
    }

    /// Restores the state of an existing file.
    fn resume(
        folder: Folder,
        file: File,
        preamble: Preamble,
        config: Config,
    ) -> Result<(Self, Restored), OpenError> {
        let path = folder.state();
        let length = file.metadata().map_err(OpenError::io(&path, "read the metadata of the file"))?.len();
        let loaded = file
            .try_clone()
            .and_then(|file| FrameReader::new(file, preamble.seed, preamble.length, length))
            .and_then(index::load)
            .map_err(OpenError::io(&path, "read the file"))?;
        let end = loaded.end;
        let truncated = (length > end).then(|| Truncated { offset: end, bytes: length - end });
        if truncated.is_some() {
            // Otherwise old frames could become valid again after new ones are written before them.
            file.set_len(end).map_err(OpenError::io(&path, "truncate the file"))?;
        }
        let restored = Restored {
            objects: loaded.objects,
            metadata: loaded.index.metadata.clone(),
            truncated,
            discarded: None,
        };
        let current = StateFile { file, preamble, index: loaded.index, end };
        Ok((Self { folder, current, has_partial_write: false, sync_failed: false, config }, restored))
    }

    pub(crate) fn size(&self) -> LogSize {
        let StateFile { index, end, .. } = &self.current;
        LogSize { file: *end, live: index.live_bytes(), objects: index.len() }
    }

    /// Returns whether more than half of the file is garbage, or a new file is needed because a sync failed.
    pub(crate) fn needs_compaction(&self) -> bool {
        let live = self.current.index.live_bytes();
        let garbage = (self.current.end - self.current.preamble.length).saturating_sub(live);
        self.sync_failed || garbage > live + self.config.compaction_threshold
    }

    /// Appends all batches, or none.
    pub(crate) fn append(&mut self, batches: &[Batch], now: SystemTime) -> Result<(), SaveError> {
        if self.sync_failed || !self.folder.is_state(&self.current.file) {
            self.compact()?;
        }
        let mut changes = merge(batches);
        let index = &self.current.index;
        changes.retain(|change| !matches!(change, Change::Delete(key) if !index.contains(key)));
        if self.has_partial_write {
            let truncated = self.current.file.set_len(self.current.end);
            truncated.map_err(SaveError::io("remove a partly written batch"))?;
        }
        self.has_partial_write = true;
        let (locations, end) = self.write(&changes, now)?;
        if self.config.sync_appends {
            self.sync_failed = true;
            self.current.file.sync_data().map_err(SaveError::io("sync the file"))?;
            self.sync_failed = false;
        }
        self.has_partial_write = false;
        self.current.end = end;
        for (change, location) in changes.into_iter().zip(locations) {
            self.current.index.apply(change, location);
        }
        self.current.index.metadata.saved_at = Some(now);
        Ok(())
    }

    /// Writes the changes and a commit; returns the locations of the changes and the end of the commit.
    fn write(&mut self, changes: &[&Change], now: SystemTime) -> Result<(Vec<Location>, u64), SaveError> {
        let failed = || SaveError::io("write to the file");
        let StateFile { file, preamble, end, .. } = &mut self.current;
        let mut frames = FrameWriter::new(file, preamble.seed, *end).map_err(failed())?;
        let mut locations = Vec::with_capacity(changes.len());
        for change in changes {
            locations.push(write_change(&mut frames, change)?);
        }
        frames.record(|out| record::write_commit(now, out)).map_err(failed())?;
        Ok((locations, frames.finish().map_err(failed())?))
    }

    /// Writes a new file without garbage.
    pub(crate) fn compact(&mut self) -> Result<(), SaveError> {
        let StateFile { file, preamble, index, end } = &self.current;
        let frames = file
            .try_clone()
            .and_then(|file| FrameReader::new(file, preamble.seed, preamble.length, *end))
            .map_err(SaveError::io("read the file"))?;
        let objects = LiveObjects::new(index, frames).map(|object| {
            object.map_err(|error| match error {
                ReadError::Corrupt(offset) => SaveError::Corrupt { offset },
                ReadError::Io(source) => SaveError::io("read the file")(source),
            })
        });
        self.current = self.create_file(objects, index.metadata.clone())?;
        self.file_replaced();
        Ok(())
    }

    /// Writes a new file with the state of a snapshot.
    pub(crate) fn replace(&mut self, snapshot: Snapshot, now: SystemTime) -> Result<(), SaveError> {
        let metadata = Metadata { saved_at: Some(now), ..snapshot.metadata };
        self.current = self.create_file(snapshot.objects.map(Ok), metadata)?;
        self.file_replaced();
        Ok(())
    }

    fn create_file(
        &self,
        objects: impl Iterator<Item = Result<Object, SaveError>>,
        metadata: Metadata,
    ) -> Result<StateFile, SaveError> {
        let preamble = Preamble { seed: rng::next_u64(), ..self.current.preamble.clone() };
        StateFile::create(&self.folder, preamble, objects, metadata)
    }

    fn file_replaced(&mut self) {
        self.has_partial_write = false;
        self.sync_failed = false;
    }
}

/// Reads the preamble and checks that the state belongs to `expected`.
fn read_preamble(folder: &Folder, mut file: &File, expected: &Header) -> Result<Preamble, OpenError> {
    let path = folder.state();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(MAX_PREAMBLE as u64).read_to_end(&mut bytes))
        .map_err(OpenError::io(&path, "read the file"))?;
    let preamble = match Preamble::decode(&bytes) {
        Ok(preamble) => preamble,
        Err(PreambleError::UnknownFile) => return Err(OpenError::UnknownFile { path }),
        Err(PreambleError::UnsupportedFormat(found)) => {
            return Err(OpenError::UnsupportedFormat { path, found });
        }
        Err(PreambleError::Corrupt(reason)) => return Err(OpenError::Corrupt { path, reason }),
    };
    match Header::difference(&preamble.header, expected) {
        None => Ok(preamble),
        Some(Difference { field, saved, expected }) => {
            Err(OpenError::Mismatch { path, field, saved, expected })
        }
    }
}

/// Returns the last change of each object, version and attachment, in order.
fn merge(batches: &[Batch]) -> Vec<&Change> {
    let mut keys: KeyMap<()> = KeyMap::default();
    let mut sources: HashSet<&Arc<str>> = HashSet::new();
    let mut attachments: HashSet<u32> = HashSet::new();
    let mut changes = Vec::new();
    for change in batches.iter().rev().flat_map(|batch| batch.changes().iter().rev()) {
        let is_last = match change {
            Change::Put(Object { key, .. }) | Change::Delete(key) => keys.insert(key.clone(), ()).is_none(),
            Change::Version { source, .. } => sources.insert(source),
            Change::Attach { id, .. } | Change::Detach { id } => attachments.insert(*id),
        };
        if is_last {
            changes.push(change);
        }
    }
    changes.reverse();
    changes
}
