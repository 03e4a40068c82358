//! The state file, and how a new one replaces it.

use crate::{
    batch::{Change, Metadata, Object},
    error::SaveError,
    folder::Folder,
    frame::{FrameWriter, Location},
    header::Preamble,
    index::Index,
    record,
};
use std::{fs::File, io::Write};

/// A file that is in place, and its contents.
#[derive(Debug)]
pub(crate) struct StateFile {
    pub(crate) file: File,
    pub(crate) preamble: Preamble,
    pub(crate) index: Index,
    /// The end of the last committed batch, where the next frame starts.
    pub(crate) end: u64,
}

impl StateFile {
    /// Writes a new file and replaces the state file with it. If this fails, the old file stays in place unchanged.
    pub(crate) fn create(
        folder: &Folder,
        preamble: Preamble,
        objects: impl Iterator<Item = Result<Object, SaveError>>,
        metadata: Metadata,
    ) -> Result<Self, SaveError> {
        let created = Self::write(folder, preamble, objects, metadata);
        if created.is_err() {
            folder.discard_next();
        }
        created
    }

    fn write(
        folder: &Folder,
        preamble: Preamble,
        objects: impl Iterator<Item = Result<Object, SaveError>>,
        metadata: Metadata,
    ) -> Result<Self, SaveError> {
        let failed = || SaveError::io("write a new file");
        let mut file = folder.create_next().map_err(failed())?;
        file.write_all(&preamble.encode()).map_err(failed())?;
        let mut index = Index::default();
        let mut end = preamble.length;
        if let Some(saved_at) = metadata.saved_at {
            let mut frames = FrameWriter::new(&mut file, preamble.seed, end).map_err(failed())?;
            let attachments =
                metadata.attachments.into_iter().map(|(id, bytes)| Ok(Change::Attach { id, bytes }));
            let versions = metadata
                .versions
                .into_iter()
                .map(|(source, version)| Ok(Change::Version { source, version }));
            let puts = objects.map(|object| object.map(Change::Put));
            for change in puts.chain(attachments).chain(versions) {
                let change = change?;
                let location = write_change(&mut frames, &change)?;
                index.apply(&change, location);
            }
            frames.record(|out| record::write_commit(saved_at, out)).map_err(failed())?;
            end = frames.finish().map_err(failed())?;
            index.metadata.saved_at = Some(saved_at);
        }
        folder.replace_state(&file).map_err(failed())?;
        Ok(Self { file, preamble, index, end })
    }
}

/// Writes a change as a record and returns its location.
pub(crate) fn write_change(frames: &mut FrameWriter<'_>, change: &Change) -> Result<Location, SaveError> {
    record::check(change)?;
    frames.record(|out| record::write_change(change, out)).map_err(SaveError::io("write to the file"))
}
