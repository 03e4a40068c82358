//! Saves the cache of an informer to a folder, so that a restarted process starts with the last state and resumes its watch.
//!
//! ```
//! use kube_informer_saved::{Batch, Encoding, Enqueue, Header, Layout, Object, Options, Payload, SavedState};
//! use kube_informer_wire::ResourceVersion;
//!
//! let folder = std::env::temp_dir().join(format!("saved-example-{}", std::process::id()));
//! let header = Header::new("", "v1", "configmaps").namespaces(["web"]);
//!
//! let (saved, restored) = SavedState::open(&folder, &header, Options::default())?;
//! assert!(restored.is_none());
//! let payload = Payload::new(Layout::Json, Encoding::PLAIN, r#"{"data":{"a":"b"}}"#.into());
//! let mut batch = Batch::new();
//! let version = ResourceVersion::number(7);
//! batch.put(Object { key: "web/a".parse()?, uid: "1".into(), version, content: None, payload });
//! batch.version(ResourceVersion::number(9));
//! assert_eq!(saved.append(batch), Enqueue::Queued);
//! saved.close()?;
//!
//! let (saved, restored) = SavedState::open(&folder, &header, Options::default())?;
//! assert_eq!(restored.version(), Some(&ResourceVersion::number(9)));
//! assert_eq!(&restored.objects()[0].payload.bytes()[..], br#"{"data":{"a":"b"}}"#);
//! # drop(saved);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **Restored states are consistent.** All batches up to some point are restored; later batches are not. A batch that was only
//!   partly written or was damaged later is dropped together with all batches after it; see [`Restored::truncated`].
//! - **Callers never wait for the disk.** [`SavedState::append`] queues a batch for a background thread. When the queue is full,
//!   batches are rejected until the caller provides a [`Snapshot`]. The state on disk stays valid.
//! - **Disk failures are not fatal.** [`WriterStatus`] and [`WriterEvent`] report them, and the writer retries with backoff.
//! - **One process per folder.** An open folder is locked, and only its owner can access it, because it may contain secrets.
//! - **Corrupt files are safe to open.** Every length is checked against the file size before memory is allocated for it.
//!
//! # File format
//!
//! A folder holds one file: a JSON header that describes the state, then frames of records. Each frame has an XXH3 checksum that
//! also covers the position of the frame and a seed of the file. The last frame of a batch ends with a commit record. Batches that
//! arrive within the flush interval are written as one, with only the last change to each key. When more than half of the file is
//! garbage, the live records are written to a new file that replaces the old one atomically.
//!
//! Payloads are stored as given. A caller that compresses them marks them with an [`Encoding`] and can store its dictionary as an
//! attachment ([`Batch::attach`]).
//!
//! A log fits better than an embedded database: the state is read once, completely, at startup, and then only written. There are
//! no lookups by key that would justify maintaining an on-disk index.

mod file_name;
mod header;
mod payload;
mod batch;
mod error;
mod record;
mod frame;
mod folder;
mod index;
mod restored;
mod state_file;
mod log;
mod queue;
mod writer;
mod options;
mod saved;

pub use batch::{Batch, Object, Snapshot};
pub use error::{OpenError, SaveError};
pub use file_name::file_name;
pub use header::Header;
pub use options::{Options, SyncPolicy};
pub use payload::{Encoding, Layout, Payload};
pub use queue::Enqueue;
pub use restored::{Restored, Truncated};
pub use saved::SavedState;
pub use writer::{WriterEvent, WriterStatus};
