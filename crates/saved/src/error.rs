//! What can go wrong, when a folder is opened and while its file is written.

use crate::{header::FORMAT, payload::MAX_PAYLOAD};
use std::{io, path::PathBuf, sync::Arc};

/// Why a folder could not be opened.
///
/// Where [`OpenError::is_unusable`] holds, the way out is to start over:
/// [`Options::start_over`](crate::Options::start_over) does so by itself, and whoever wants to look first can delete the file.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// What is saved is the state of something else.
    #[error("{}: saved for {field} {saved:?}, and {wanted:?} is wanted; use another folder, or start over", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The field of the [`Header`](crate::Header) that differs.
        field: &'static str,
        /// What the file says there; empty for nothing.
        saved: String,
        /// What was asked for; empty for nothing.
        wanted: String,
    },
    /// Another process, or another handle of this one, has the folder.
    #[error("{}: in use by another process; give each its own folder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not one of ours.
    #[error("{}: not a saved state; use another folder, or delete it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is one of ours, and damaged before anything that could be restored.
    #[error("{}: damaged, {what}; start over, or delete it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file was written by a newer release.
    #[error("{}: format {found} is newer than {FORMAT}; use the newer release, or start over", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The folder is open to others, and holds other things too, so that closing it may do harm.
    #[error("{}: others may enter it (mode {mode:o}); name a folder of its own below it", path.display())]
    Exposed {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The header is too long to be saved.
    #[error("the header is too long to be saved")]
    HeaderTooLong,
    /// The system refused.
    #[error("{}: {doing} failed", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        #[source]
        cause: Arc<io::Error>,
    },
}

impl OpenError {
    pub(crate) fn io(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Io { path, doing, cause: Arc::new(cause) }
    }

    /// Whether the folder is fine and what is saved there is of no use, so that starting over helps.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        match self {
            Self::Mismatch { .. } | Self::Damaged { .. } | Self::Newer { .. } => true,
            // A file that was never ours is not ours to overwrite.
            Self::Foreign { .. }
            | Self::Locked { .. }
            | Self::Exposed { .. }
            | Self::HeaderTooLong
            | Self::Io { .. } => false,
        }
    }

    /// Whether another process has the folder.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }
}

/// Why changes could not be saved. What was saved before stays as it was.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The system refused: the disk is full, or broken, or gone. Saving is tried again.
    #[error("{doing} failed")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        #[source]
        cause: Arc<io::Error>,
    },
    /// An object is larger than what is read back.
    #[error("{key} takes {bytes} bytes, and {MAX_PAYLOAD} are the most")]
    TooLarge {
        /// The key of the object.
        key: String,
        /// The size of its payload.
        bytes: usize,
    },
    /// The file was changed or broke beneath us.
    #[error("the file was damaged at byte {at} since it was written")]
    Damaged {
        /// Where in the file.
        at: u64,
    },
    /// More was waiting to be written than may wait, so that something is missing until there is a new snapshot.
    #[error("changes came faster than they were written; a snapshot is needed")]
    Behind,
    /// The writer is gone.
    #[error("the writer has ended")]
    Stopped,
}

impl SaveError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { doing, cause: Arc::new(cause) }
    }

    /// Whether saving goes on only from a new [`Snapshot`](crate::Snapshot); otherwise it goes on by itself when its
    /// cause is gone.
    #[must_use]
    pub fn needs_snapshot(&self) -> bool {
        match self {
            Self::TooLarge { .. } | Self::Damaged { .. } | Self::Behind => true,
            Self::Io { .. } | Self::Stopped => false,
        }
    }
}
