//! The errors of recording and of reading.

use kube_informer_folder::FolderError;
use std::{
    io,
    path::{Path, PathBuf},
};

/// The error of recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Another process or another recorder of this process records into the folder.
    #[error("history folder {} is locked by another recorder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// Other users have access to the folder, and it contains files that are not part of a history.
    #[error("history folder {} has mode {mode:o} and contains other files: use an empty folder", path.display())]
    InsecurePermissions {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Secrets are recorded only if [`RecorderOptions::secrets`](crate::RecorderOptions::secrets) allows it.
    #[error("secrets are not recorded: use `RecorderOptions::secrets(Secrets::Record)` to record them")]
    SecretsRefused,
    /// The kind was not returned by [`Recorder::add_kind`](crate::Recorder::add_kind) of this folder.
    #[error("unknown kind {0:?}: call `add_kind` first")]
    UnknownKind(crate::kind::KindId),
    /// The object has no valid name, or its bytes are malformed, so that it cannot be identified or redacted.
    #[error("object of kind {kind} cannot be recorded: it is malformed or has no valid metadata.name")]
    InvalidObject {
        /// The kind.
        kind: String,
    },
    /// The object is larger than a segment can store.
    #[error("object {key} has {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// The key of the object.
        key: String,
        /// Its size.
        bytes: usize,
        /// The maximum size.
        limit: usize,
    },
    /// A redaction path is invalid.
    #[error(
        "invalid redaction path {path:?}: expected a JSON pointer such as /spec/containers/*/env/*/value"
    )]
    InvalidPath {
        /// The path.
        path: String,
    },
    /// The disk does not accept data, and the limit of unwritten data is reached. Open the folder again when it does.
    #[error("{bytes} bytes could not be written: drop this recorder and open the folder again")]
    Overflow {
        /// The number of unwritten bytes.
        bytes: usize,
    },
    /// An earlier sync failed, so that the content of the disk is unknown. Open the folder again.
    #[error("an earlier sync failed: drop this recorder and open the folder again")]
    SyncFailed,
    /// A file operation failed.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The existing history cannot be read.
    #[error("existing history cannot be read")]
    Read(#[from] ReadError),
}

impl From<FolderError> for RecordError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Locked { path } => Self::Locked { path },
            FolderError::InsecurePermissions { path, mode } => Self::InsecurePermissions { path, mode },
            FolderError::Io { path, action, source } => Self::Io { action, path, source },
        }
    }
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Returns true if another recorder has locked the folder.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }

    /// Returns true if this recorder cannot continue: drop it and open the folder again.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self, Self::Overflow { .. } | Self::SyncFailed)
    }
}

/// The error of reading a history.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The folder contains no history.
    #[error("no history in {}", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The moment is before the first recorded one, or has been removed by the retention.
    #[error("{time} is before the start of the history at {start}")]
    BeforeStart {
        /// The requested time.
        time: jiff::Timestamp,
        /// The start of the history.
        start: jiff::Timestamp,
    },
    /// The kind is not recorded.
    #[error("kind {name:?} is not recorded")]
    UnknownKind {
        /// The requested kind.
        name: String,
    },
    /// The file was written in a format that this version does not support.
    #[error("{} has history format {found}, this version supports format {supported}", path.display())]
    UnsupportedFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u32,
        /// The supported format.
        supported: u32,
    },
    /// The file is not a segment, or its header is damaged.
    #[error("{} is not a history segment or its header is damaged", path.display())]
    InvalidSegment {
        /// The file.
        path: PathBuf,
    },
    /// A part of a segment is damaged, so that this version of an object cannot be read.
    #[error("{} is damaged at byte {offset}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The position in the file.
        offset: u64,
    },
    /// The object cannot be decoded.
    #[error("recorded object cannot be decoded")]
    Object(#[from] kube_informer_wire::ObjectError),
    /// The object was recorded as protobuf of a kind that this version does not know.
    #[error("recorded object has no known protobuf schema: {kind}")]
    UnknownSchema {
        /// The kind.
        kind: String,
    },
    /// A file operation failed.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl ReadError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Returns true if a part of a file is damaged. Other parts can be read.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::InvalidSegment { .. })
    }

    /// Returns true if the file no longer exists, because the retention removed it.
    pub(crate) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
