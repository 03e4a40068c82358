//! Keeps the cache of an informer in a folder, so that it outlives its process: on start the state is there at once, and the
//! watch goes on from where it was.
//!
//! ```
//! use kube_informer_saved::{Batch, Header, Layout, Object, Options, Payload, Saved, Taken};
//! use kube_informer_wire::ResourceVersion;
//!
//! let folder = std::env::temp_dir().join(format!("saved-example-{}", std::process::id()));
//! let header = Header::new("", "v1", "configmaps").namespaces(["web"]);
//!
//! let (saved, restored) = Saved::open(&folder, &header, Options::default())?;
//! assert!(restored.is_none());
//! let payload = Payload::plain(Layout::Json, r#"{"data":{"a":"b"}}"#.into());
//! let mut batch = Batch::new();
//! batch.put(Object { key: "web/a".parse()?, uid: "1".into(), version: ResourceVersion::number(7), payload });
//! batch.version(ResourceVersion::number(9));
//! assert_eq!(saved.append(batch), Taken::Queued);
//! saved.close()?;
//!
//! let (saved, restored) = Saved::open(&folder, &header, Options::default())?;
//! assert_eq!(restored.version(), Some(&ResourceVersion::number(9)));
//! assert_eq!(&restored.objects()[0].payload.bytes()?[..], br#"{"data":{"a":"b"}}"#);
//! # drop(saved);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it promises
//!
//! - **A state the server had, or none.** What is restored is all batches up to some point. A batch that was being written when the
//!   process ended, or that was damaged since, is dropped with all that follow, and [`Restored::dropped`] says so.
//! - **Nobody waits for the disk.** [`Saved::append`] hands a batch to a thread. When more waits than may, batches are refused until
//!   there is a [`Snapshot`]; what is on disk stays, and is as good to resume from as any earlier state.
//! - **A failing disk harms nobody.** [`Status`] and [`Event`] tell of it, saving is tried again, and the informer goes on.
//! - **One folder, one process.** A folder is locked while it is open, and closed to other users: it may hold secrets.
//! - **No file does harm.** Lengths are held against the file before anything is set aside for them.
//!
//! # How it is kept
//!
//! One file: a header in JSON that says whose state it is, then frames of records. A frame carries a checksum (XXH3) that covers
//! where it stands and in which file, and the last frame of a batch ends in a commit. Batches that come within the flush interval are
//! written as one, of which only the last change to each key is kept. When there is more in the file that is of no use than is of
//! use, a new file is written beside it, synced, and put in its place.
//!
//! Payloads are packed one by one with zstd, against 64 KiB of payloads of some of them, and stay packed in memory until
//! [`Payload::bytes`] is called. Blocks of many objects would pack to a third of that, but every read would expand a block, and
//! every compaction would pack all objects again rather than copy them. A caller that has packed payloads already hands them over
//! with an [`Encoding`] of its own, and keeps the dictionary as an attachment ([`Batch::attach`]).
//!
//! # Why not a database
//!
//! It is read once, whole, at start, and then only written to: a map in a file that is looked up by key has to be paid for and is
//! not used. 100,000 pods of 8 KB protobuf, each packed to about a kilobyte; 220,000 events, of which each flush or commit takes a
//! thousand, compactions included. The best of three runs in turn, on two cores that other work kept busy, so it is the ratios that
//! count. Load is until all keys and packed bytes are in memory; CPU is that of the whole process.
//!
//! | | file MB, at first and at last | load ms | CPU per event, us | left by a kill |
//! |---|---|---|---|---|
//! | this log, which packs | 89, 97 | 106 | 31.3 | all that was flushed |
//! | this log, given packed | 101, 111 | 111 | 6.1 | all that was flushed |
//! | fjall 3.1, given packed | 131, 169 to 446 | 374 | 9.6 | all that was flushed |
//! | redb 4.4, given packed, synced | 270, 270 | 436 | 23.2 | all that was committed |
//! | redb 4.4, given packed, not synced | 270, 539 | 241 | 14.2 | nothing since the last sync |
//!
//! A thousand events a second so take 3 % of a core, most of it to pack them, and 0.6 % if they come packed. To expand all objects
//! takes 6 to 19 us for each, when it is asked for. Stored as they are, the pods take 812 MB here and load in 362 ms (fjall: 838 MB,
//! 820 ms; redb: 1,078 MB, 845 ms; one run). After being killed 15 times, neither of the two was left with half a batch either.
//! `cargo bench -p kube-informer-saved` measures the log alone.

mod header;

mod packing;

mod payload;

mod batch;

mod record;

mod error;

mod frame;

mod folder;

mod image;

mod restored;

mod rewrite;

mod log;

mod queue;

mod writer;

mod options;

mod saved;

pub use batch::{Batch, Object, Snapshot};
pub use error::{OpenError, SaveError};
pub use header::Header;
pub use options::{Compression, Options, Sync};
pub use payload::{Encoding, Layout, Payload, PayloadError};
pub use queue::Taken;
pub use restored::{Dropped, Restored};
pub use saved::Saved;
pub use writer::{Event, Status};
