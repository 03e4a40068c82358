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
