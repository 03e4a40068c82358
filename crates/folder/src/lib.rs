//! A folder with the files of one process: locked, readable only by its owner, with files that are replaced atomically.
//!
//! It is shared by `kube-history`, `kube-informer-saved` and `kube-devserver`.
//!
//! ```
//! use kube_informer_folder::PrivateFolder;
//! use std::io::Write;
//!
//! let path = std::env::temp_dir().join(format!("folder-example-{}", std::process::id()));
//! let folder = PrivateFolder::open(&path, |name| name.starts_with("state"))?;
//! let mut file = folder.create("state.next")?;
//! file.write_all(b"contents")?;
//! folder.rename(&file, "state.next", "state")?;
//! assert!(PrivateFolder::open(&path, |_| true).is_err(), "it is locked");
//! # drop(folder);
//! # std::fs::remove_dir_all(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// A folder that is locked until this is dropped.
#[derive(Debug)]
pub struct PrivateFolder {
    path: PathBuf,
    lock: File,
}

/// Reports why a folder could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder is open in another process or in another handle of this one.
    #[error("{}: in use by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// Other users can access the folder, and it contains other files, so its permissions are not changed.
    #[error("{}: accessible to other users (mode {mode:o}), and it contains other files", path.display())]
    InsecurePermissions {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// An operation failed.
    #[error("{}: failed to {action}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

const LOCK: &str = "lock";

impl PrivateFolder {
    /// Creates the folder if it is missing, removes access for other users, and locks it.
    ///
    /// `is_own` returns whether a file name belongs to the format that is stored in the folder. If other users have access to a
    /// folder with other files, its permissions are not changed: the path may have been given by mistake, such as `/tmp`.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(path: &Path, is_own: impl Fn(&str) -> bool) -> Result<Self, FolderError> {
        create_folder(path).map_err(failed("create the folder", path))?;
        make_folder_private(path, is_own)?;
        let lock_path = path.join(LOCK);
        let lock = private().read(true).write(true).create(true).truncate(false).open(&lock_path);
        let lock = lock.map_err(failed("open the lock file", &lock_path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => FolderError::Locked { path: path.into() },
            TryLockError::Error(source) => failed("lock the folder", &lock_path)(source),
        })?;
        Ok(Self { path: path.into(), lock })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates an empty file for reading and writing, in place of an existing one.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.remove(name)?;
        private().read(true).write(true).create_new(true).open(self.path.join(name))
    }

    /// Opens a file for reading and writing, and removes access for other users.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        let file = private().read(true).write(true).open(self.path.join(name))?;
        make_file_private(&file)?;
        Ok(file)
    }

    /// Renames a file, in place of an existing one: atomically, even in case of a power failure.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn rename(&self, file: &File, from: &str, to: &str) -> io::Result<()> {
        file.sync_all()?;
        fs::rename(self.path.join(from), self.path.join(to))?;
        sync_folder(&self.path)
    }

    /// Removes a file, if it exists.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is being spawned may share it briefly.
        let _ = self.lock.unlock();
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { path, action, source }
}

/// Returns the options for files that only their owner can access.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

#[cfg(unix)]
fn make_folder_private(path: &Path, is_own: impl Fn(&str) -> bool) -> Result<(), FolderError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(failed("read the metadata of the folder", path))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let mut entries = fs::read_dir(path).map_err(failed("list the folder", path))?;
    let is_own = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name == LOCK || is_own(name));
    if !entries.all(|entry| entry.is_ok_and(|entry| is_own(&entry.file_name()))) {
        return Err(FolderError::InsecurePermissions { path: path.into(), mode });
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(failed("change the permissions of the folder", path))
}

#[cfg(not(unix))]
fn make_folder_private(_: &Path, _: impl Fn(&str) -> bool) -> Result<(), FolderError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    struct TempFolder(PathBuf);

    impl TempFolder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("private-folder-{}-{name}", std::process::id())))
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_folder_is_locked_until_it_is_dropped() {
        let temp = TempFolder::new("locked");
        let folder = PrivateFolder::open(&temp.0, |_| true).unwrap();
        assert!(matches!(PrivateFolder::open(&temp.0, |_| true), Err(FolderError::Locked { .. })));
        drop(folder);
        assert!(PrivateFolder::open(&temp.0, |_| true).is_ok());
    }

    #[test]
    fn a_renamed_file_replaces_the_old_one() {
        let temp = TempFolder::new("renamed");
        let folder = PrivateFolder::open(&temp.0, |_| true).unwrap();
        for contents in ["old", "new"] {
            let mut file = folder.create("next").unwrap();
            file.write_all(contents.as_bytes()).unwrap();
            folder.rename(&file, "next", "state").unwrap();
            assert_eq!(fs::read_to_string(temp.0.join("state")).unwrap(), contents);
            assert!(!temp.0.join("next").exists());
        }
        // An incomplete file of an earlier process has no effect.
        fs::write(temp.0.join("next"), "a longer text").unwrap();
        assert_eq!(folder.create("next").unwrap().metadata().unwrap().len(), 0);
        folder.remove("next").unwrap();
        folder.remove("next").unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_has_a_relative_path() {
        let temp = TempFolder::new("relative");
        let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
        let relative = PathBuf::from(up).join(temp.0.strip_prefix("/").unwrap());
        let folder = PrivateFolder::open(&relative, |_| true).unwrap();
        let file = folder.create("next").unwrap();
        folder.rename(&file, "next", "state").unwrap();
        assert!(temp.0.join("state").exists());
        folder.remove("state").unwrap();
        assert!(!temp.0.join("state").exists());
    }

    #[cfg(unix)]
    #[test]
    fn other_users_have_no_access() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let temp = TempFolder::new("modes");
        fs::create_dir(&temp.0).unwrap();
        fs::set_permissions(&temp.0, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(temp.0.join("state"), "").unwrap();
        fs::set_permissions(temp.0.join("state"), fs::Permissions::from_mode(0o644)).unwrap();
        let folder = PrivateFolder::open(&temp.0, |name| name == "state").unwrap();
        drop(folder.create("next").unwrap());
        drop(folder.open_file("state").unwrap());
        assert_eq!(mode(&temp.0), 0o700);
        for name in ["next", "state", LOCK] {
            assert_eq!(mode(&temp.0.join(name)), 0o600, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_permissions_of_a_folder_with_other_files_do_not_change() {
        use std::os::unix::fs::PermissionsExt;
        let temp = TempFolder::new("foreign");
        fs::create_dir(&temp.0).unwrap();
        fs::set_permissions(&temp.0, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(temp.0.join("photo.jpg"), "").unwrap();
        let error = PrivateFolder::open(&temp.0, |name| name == "state").unwrap_err();
        assert!(matches!(error, FolderError::InsecurePermissions { mode: 0o755, .. }), "{error}");
        assert_eq!(fs::metadata(&temp.0).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
