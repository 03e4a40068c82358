//! The folder of one saved state: its lock, its permissions, and how a file in it is replaced.

use crate::error::OpenError;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// A folder that is ours, and locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

const LOCK: &str = "lock";
const STATE: &str = "state";
/// A file that is not in its place yet; one that is found was never finished.
const NEXT: &str = "state.next";

impl Folder {
    /// Makes the folder if it is missing, sees to it that nobody else may enter it, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        create(path).map_err(OpenError::io(path, "making the folder"))?;
        close_to_others(path)?;
        let lock_path = path.join(LOCK);
        let lock = options().write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(OpenError::io(&lock_path, "opening the lock"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked { path: path.into() },
            TryLockError::Error(cause) => OpenError::io(&lock_path, "locking")(cause),
        })?;
        let folder = Self { path: path.into(), lock };
        match fs::remove_file(folder.path.join(NEXT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(OpenError::io(folder.path.join(NEXT), "removing an unfinished file")(error))
            }
            _ => Ok(folder),
        }
    }

    /// Where the state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// Opens the state, if there is one.
    pub(crate) fn open_state(&self) -> Result<Option<File>, OpenError> {
        let path = self.state();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(&path, "looking for the file")(error)),
            // Opening a pipe would wait for its other end, and a link leads to what is not ours.
            Ok(metadata) if !metadata.is_file() => return Err(OpenError::Foreign { path }),
            Ok(_) => {}
        }
        let file = options().write(true).open(&path).map_err(OpenError::io(&path, "opening the file"))?;
        keep_from_others(&file).map_err(OpenError::io(&path, "closing the file to others"))?;
        Ok(Some(file))
    }

    /// A new file beside the state, empty.
    pub(crate) fn create_next(&self) -> io::Result<File> {
        let file = options().write(true).create(true).truncate(true).open(self.path.join(NEXT))?;
        keep_from_others(&file)?;
        Ok(file)
    }

    /// Puts the new file in the place of the state, in one step that also survives a loss of power.
    pub(crate) fn next_is_complete(&self, next: &File) -> io::Result<()> {
        next.sync_all()?;
        fs::rename(self.path.join(NEXT), self.state())?;
        sync_folder(&self.path)
    }

    /// Removes a new file that will not be finished.
    pub(crate) fn discard_next(&self) {
        // If this fails, the next attempt overwrites it.
        let _ = fs::remove_file(self.path.join(NEXT));
    }

    /// Whether this is still the file that is found under the name of the state.
    pub(crate) fn is_in_place(&self, file: &File) -> bool {
        is_same(file, &self.state())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started elsewhere in the program shares the open file for a moment.
        let _ = self.lock.unlock();
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Takes a folder's permissions away from others, if all that is in it is ours: a folder that was named by mistake, such as
/// `/tmp`, is not to be closed.
#[cfg(unix)]
fn close_to_others(path: &Path) -> Result<(), OpenError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(OpenError::io(path, "looking at the folder"))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let mut entries = fs::read_dir(path).map_err(OpenError::io(path, "listing the folder"))?;
    let ours = |name: &std::ffi::OsStr| [LOCK, STATE, NEXT].iter().any(|known| name == *known);
    if !entries.all(|entry| entry.is_ok_and(|entry| ours(&entry.file_name()))) {
        return Err(OpenError::Exposed { path: path.into(), mode });
    }
    let closed = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    closed.map_err(OpenError::io(path, "closing the folder to others"))
}

#[cfg(not(unix))]
fn close_to_others(_: &Path) -> Result<(), OpenError> {
    Ok(())
}

#[cfg(unix)]
fn keep_from_others(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o177 == 0 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn keep_from_others(_: &File) -> io::Result<()> {
    Ok(())
}

/// A rename is on the disk when the folder is.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(one), Ok(two)) if inode(&one) == inode(&two))
}

#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}
