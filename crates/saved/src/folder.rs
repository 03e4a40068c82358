//! The folder of a saved state: its lock, its permissions and the atomic replacement of its file.

use crate::error::OpenError;
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// A folder that is locked until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

const LOCK: &str = "lock";
const STATE: &str = "state";
/// A new file before it replaces the state. One that exists at startup is incomplete.
const NEXT: &str = "state.next";

impl Folder {
    /// Creates the folder if it is missing, removes access for other users, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        create(path).map_err(OpenError::io(path, "create the folder"))?;
        make_folder_private(path)?;
        let lock_path = path.join(LOCK);
        let lock = options().write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(OpenError::io(&lock_path, "open the lock file"))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked { path: path.into() },
            TryLockError::Error(source) => OpenError::io(&lock_path, "lock the folder")(source),
        })?;
        let folder = Self { path: path.into(), lock };
        match fs::remove_file(folder.path.join(NEXT)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(OpenError::io(folder.path.join(NEXT), "remove an incomplete file")(error))
            }
            _ => Ok(folder),
        }
    }

    /// Returns the path of the state file.
    pub(crate) fn state(&self) -> PathBuf {
        self.path.join(STATE)
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
        let file = options().write(true).open(&path).map_err(OpenError::io(&path, "open the file"))?;
        make_file_private(&file).map_err(OpenError::io(&path, "change the permissions of the file"))?;
        Ok(Some(file))
    }

    /// Creates an empty new file next to the state file.
    pub(crate) fn create_next(&self) -> io::Result<File> {
        let file = options().write(true).create(true).truncate(true).open(self.path.join(NEXT))?;
        make_file_private(&file)?;
        Ok(file)
    }

    /// Replaces the state file with the new file, atomically even in case of a power failure.
    pub(crate) fn replace_state(&self, next: &File) -> io::Result<()> {
        next.sync_all()?;
        fs::rename(self.path.join(NEXT), self.state())?;
        sync_folder(&self.path)
    }

    /// Removes an incomplete new file.
    pub(crate) fn discard_next(&self) {
        // The next attempt overwrites it if this fails.
        let _ = fs::remove_file(self.path.join(NEXT));
    }

    /// Returns whether the path of the state file still refers to `file`.
    pub(crate) fn is_state(&self, file: &File) -> bool {
        is_same_file(file, &self.state())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is being spawned may share it briefly.
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

/// Removes access for other users, unless the folder contains other files: the permissions of a folder that was given by mistake,
/// such as `/tmp`, must not change.
#[cfg(unix)]
fn make_folder_private(path: &Path) -> Result<(), OpenError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(OpenError::io(path, "read the metadata of the folder"))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let mut entries = fs::read_dir(path).map_err(OpenError::io(path, "list the folder"))?;
    let is_known = |name: &std::ffi::OsStr| [LOCK, STATE, NEXT].iter().any(|known| name == *known);
    if !entries.all(|entry| entry.is_ok_and(|entry| is_known(&entry.file_name()))) {
        return Err(OpenError::InsecurePermissions { path: path.into(), mode });
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(OpenError::io(path, "change the permissions of the folder"))
}

#[cfg(not(unix))]
fn make_folder_private(_: &Path) -> Result<(), OpenError> {
    Ok(())
}

#[cfg(unix)]
fn make_file_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o177 == 0 {
        return Ok(());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_file_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Makes a rename durable.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
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
