//! Errors from opening a folder and from writing to it.

use crate::header::FORMAT;
use kube_informer_folder::FolderError;
use std::{io, path::PathBuf, sync::Arc};

/// Reports why a folder could not be opened.
///
/// If [`OpenError::is_unusable`] returns `true`, [`Options::start_over`](crate::Options::start_over) or deleting the file helps.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file holds the state of something else.
    #[error(
        "{}: saved for {field} {saved:?}, but {expected:?} is requested; use another folder or start over",
        path.display()
    )]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The field of the [`Header`](crate::Header) that differs.
        field: &'static str,
        /// The value in the file; empty if absent.
        saved: String,
        /// The requested value; empty if absent.
        expected: String,
    },
    /// The folder is open in another process or in another handle of this one.
    #[error("{}: in use by another process; use a separate folder for each process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file was not written by this crate.
    #[error("{}: not a saved state; use another folder or delete the file", path.display())]
    UnknownFile {
        /// The file.
        path: PathBuf,
    },
    /// The header of the file is corrupt.
    #[error("{}: corrupt file: {reason}; start over or delete the file", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The invalid part of the header.
        reason: &'static str,
    },
    /// The file was written by a newer release.
    #[error(
        "{}: unsupported format {found}, expected {FORMAT}; use a newer release or start over",
        path.display()
    )]
    UnsupportedFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Other users can access the folder, and it contains other files, so its permissions are not changed.
    #[error("{}: accessible to other users (mode {mode:o}); use a separate subfolder", path.display())]
    InsecurePermissions {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The header is too long to be saved.
    #[error("the header is too long to be saved")]
    HeaderTooLong,
    /// An I/O operation failed.
    #[error("{}: failed to {action}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation that failed.
        action: &'static str,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
}

impl From<FolderError> for OpenError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Locked { path } => Self::Locked { path },
            FolderError::InsecurePermissions { path, mode } => Self::InsecurePermissions { path, mode },
            FolderError::Io { path, action, source } => Self::Io { path, action, source: Arc::new(source) },
        }
    }
}

impl OpenError {
    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source: Arc::new(source) }
    }

    /// Returns whether the folder is fine but the saved state cannot be used, so that starting over helps.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        match self {
            Self::Mismatch { .. } | Self::Corrupt { .. } | Self::UnsupportedFormat { .. } => true,
            // A file of another program must not be overwritten.
            Self::UnknownFile { .. }
            | Self::Locked { .. }
            | Self::InsecurePermissions { .. }
            | Self::HeaderTooLong
            | Self::Io { .. } => false,
        }
    }

    /// Returns whether the folder is in use by another process.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }
}

/// Reports why changes could not be saved. The state saved before stays intact.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// An I/O operation failed, for example because the disk is full. The writer retries.
    #[error("failed to {action}")]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// An object, attachment or name exceeds the size limit.
    #[error("{name} is too large: {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// The name of the part that is too large: the key of an object, or another part.
        name: String,
        /// Its size.
        bytes: usize,
        /// The maximum size.
        limit: usize,
    },
    /// The file changed or was damaged after the last write.
    #[error("the file is corrupt at byte {offset}")]
    Corrupt {
        /// The position in the file.
        offset: u64,
    },
    /// The queue was full, so changes are missing until there is a new snapshot.
    #[error("the write queue is full; a new snapshot is needed")]
    QueueFull,
    /// The writer has stopped.
    #[error("the writer has stopped")]
    Stopped,
}

impl SaveError {
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source: Arc::new(source) }
    }

    /// Returns whether saving can only continue from a new [`Snapshot`](crate::Snapshot). Otherwise the writer retries.
    #[must_use]
    pub fn needs_snapshot(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::Corrupt { .. } | Self::QueueFull => true,
            Self::Io { .. } | Self::Stopped => false,
        }
    }
}
