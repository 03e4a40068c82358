//! The folder of a saved state, and the atomic replacement of its file.

use crate::error::OpenError;
use kube_informer_folder::PrivateFolder;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder that is locked until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PrivateFolder);

const STATE: &str = "state";
/// A new file before it replaces the state. One that exists at startup is incomplete.
const NEXT: &str = "state.next";

impl Folder {
    /// Creates the folder if it is missing, removes access for other users, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let folder = PrivateFolder::open(path, |name| name == STATE || name == NEXT)?;
        folder.remove(NEXT).map_err(OpenError::io(path.join(NEXT), "remove an incomplete file"))?;
        Ok(Self(folder))
    }

    /// Returns the path of the state file.
    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join(STATE)
    }

    /// Opens the state file, if it exists.
    pub(crate) fn open_state(&self) -> Result<Option<File>, OpenError> {
        let path = self.state();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(&path, "read the metadata of the file")(error)),
            // Opening a pipe would block, and a link may point to a file of another program.
            Ok(metadata) if !metadata.is_file() => return Err(OpenError::UnknownFile { path }),
            Ok(_) => {}
        }
        self.0.open_file(STATE).map(Some).map_err(OpenError::io(&path, "open the file"))
    }

    /// Creates an empty new file next to the state file.
    pub(crate) fn create_next(&self) -> io::Result<File> {
        self.0.create(NEXT)
    }

    /// Replaces the state file with the new file, atomically even in case of a power failure.
    pub(crate) fn replace_state(&self, next: &File) -> io::Result<()> {
        self.0.rename(next, NEXT, STATE)
    }

    /// Removes an incomplete new file.
    pub(crate) fn discard_next(&self) {
        // The next attempt overwrites it if this fails.
        let _ = self.0.remove(NEXT);
    }

    /// Returns whether the path of the state file still refers to `file`.
    pub(crate) fn is_state(&self, file: &File) -> bool {
        is_same_file(file, &self.state())
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(open), Ok(named)) if inode(&open) == inode(&named))
}

#[cfg(not(unix))]
fn is_same_file(_: &File, path: &Path) -> bool {
    path.exists()
}
