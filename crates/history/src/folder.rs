//! The folder of a history: its lock, its permissions and its files.

use crate::error::{ReadError, RecordError};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// A folder that is locked for recording until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

const LOCK: &str = "lock";
/// A new file before it gets its name. One that exists at startup is incomplete.
const NEXT: &str = "next";
const SEGMENT: &str = ".segment";
const INDEX: &str = ".index";

/// Returns the path of a segment.
pub(crate) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}{SEGMENT}"))
}

/// Returns the path of the stored index of a segment.
pub(crate) fn index_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}{INDEX}"))
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
        create(path).map_err(RecordError::io("create the folder", path))?;
        make_private(path)?;
        let lock_path = path.join(LOCK);
        let lock = options().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(RecordError::io("open the lock file", &lock_path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => RecordError::Locked { path: path.into() },
            TryLockError::Error(source) => RecordError::io("lock", &lock_path)(source),
        })?;
        let folder = Self { path: path.into(), lock };
        folder.discard_next();
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates an empty file that has no final name yet.
    pub(crate) fn create_next(&self) -> io::Result<File> {
        self.discard_next();
        options().read(true).write(true).create_new(true).open(self.path.join(NEXT))
    }

    /// Gives the new file its final name, atomically even in case of a power failure.
    pub(crate) fn rename_next(&self, next: &File, path: &Path) -> io::Result<()> {
        next.sync_all()?;
        fs::rename(self.path.join(NEXT), path)?;
        sync_folder(&self.path)
    }

    /// Removes an incomplete new file.
    pub(crate) fn discard_next(&self) {
        // If this fails, creating the next file reports it.
        let _ = fs::remove_file(self.path.join(NEXT));
    }

    /// Returns the size of all files.
    pub(crate) fn size(&self) -> Result<u64, RecordError> {
        let failed = || RecordError::io("list the folder", &self.path);
        let mut total = 0;
        for entry in fs::read_dir(&self.path).map_err(failed())? {
            // A file that was removed since has no size.
            total += entry.map_err(failed())?.metadata().map_or(0, |metadata| metadata.len());
        }
        Ok(total)
    }

    /// Removes a segment and its index.
    pub(crate) fn remove_segment(&self, number: u64) -> io::Result<()> {
        match fs::remove_file(index_path(&self.path, number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::remove_file(segment_path(&self.path, number))
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
fn make_private(path: &Path) -> Result<(), RecordError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(RecordError::io("read the metadata of", path))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let is_known = |name: &std::ffi::OsStr| {
        let name = name.to_str().unwrap_or_default();
        name == LOCK || name == NEXT || name.ends_with(SEGMENT) || name.ends_with(INDEX)
    };
    let mut entries = fs::read_dir(path).map_err(RecordError::io("list the folder", path))?;
    if !entries.all(|entry| entry.is_ok_and(|entry| is_known(&entry.file_name()))) {
        return Err(RecordError::InsecurePermissions { path: path.into(), mode });
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(RecordError::io("change the permissions of", path))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<(), RecordError> {
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
