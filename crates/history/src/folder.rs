//! The folder of a history: its segments and their index files.

use crate::error::{ReadError, RecordError};
use kube_informer_folder::PrivateFolder;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder that is locked for recording until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PrivateFolder);

/// A new file before it gets its name. One that exists at startup is incomplete.
const NEXT: &str = "next";
const SEGMENT: &str = ".segment";
const INDEX: &str = ".index";

/// Returns the path of a segment.
pub(crate) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(segment_name(number))
}

/// Returns the path of the stored index of a segment.
pub(crate) fn index_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(index_name(number))
}

/// Returns the file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:012}{SEGMENT}")
}

/// Returns the file name of the stored index of a segment.
pub(crate) fn index_name(number: u64) -> String {
    format!("{number:012}{INDEX}")
}

/// Returns the numbers of the segments in a folder, in ascending order.
pub(crate) fn segment_numbers(folder: &Path) -> Result<Vec<u64>, ReadError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ReadError::io("list the folder", folder)(error)),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(ReadError::io("list the folder", folder))?;
        let name = entry.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_suffix(SEGMENT)).and_then(|n| n.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

impl Folder {
    /// Creates the folder if it is missing, removes access for other users, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, RecordError> {
        let is_own = |name: &str| name == NEXT || name.ends_with(SEGMENT) || name.ends_with(INDEX);
        let folder = Self(PrivateFolder::open(path, is_own)?);
        folder.discard_next();
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates an empty file that has no final name yet.
    pub(crate) fn create_next(&self) -> io::Result<File> {
        self.0.create(NEXT)
    }

    /// Renames the new file, atomically even in case of a power failure.
    pub(crate) fn rename_next(&self, next: &File, name: &str) -> io::Result<()> {
        self.0.rename(next, NEXT, name)
    }

    /// Removes an incomplete new file.
    pub(crate) fn discard_next(&self) {
        // If this fails, creating the next file reports it.
        let _ = self.0.remove(NEXT);
    }

    /// Returns the size of all files.
    pub(crate) fn size(&self) -> Result<u64, RecordError> {
        let failed = || RecordError::io("list the folder", self.path());
        let mut total = 0;
        for entry in fs::read_dir(self.path()).map_err(failed())? {
            // A file that was removed since has no size.
            total += entry.map_err(failed())?.metadata().map_or(0, |metadata| metadata.len());
        }
        Ok(total)
    }

    /// Removes a segment and its index.
    pub(crate) fn remove_segment(&self, number: u64) -> io::Result<()> {
        self.0.remove(&index_name(number))?;
        fs::remove_file(segment_path(self.path(), number))
    }
}
