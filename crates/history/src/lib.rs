//! Records every change of Kubernetes objects to a folder, and reads the state of any moment.
//!
//! A [`Recorder`] writes the lists and watch events of any number of kinds. A [`History`] reads them, also while they are written, from
//! any number of processes.
//!
//! ```
//! use jiff::Timestamp;
//! use kube_history::{Filter, History, Kind, List, Recorder, RecorderOptions};
//! use kube_informer_wire::{EventType, Format, Raw, ResourceVersion};
//!
//! let folder = std::env::temp_dir().join(format!("history-example-{}", std::process::id()));
//! let time = |second: i64| Timestamp::from_second(1_800_000_000 + second);
//! let pod = |version: u64, phase: &str| {
//!     let json = format!(
//!         r#"{{"metadata":{{"name":"a","namespace":"web","uid":"1","resourceVersion":"{version}"}},"status":{{"phase":"{phase}"}}}}"#
//!     );
//!     Raw::new(Format::Json, json.into())
//! };
//!
//! let mut recorder = Recorder::open(&folder, RecorderOptions::default(), time(0)?)?;
//! let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)?)?;
//! let version = Some(ResourceVersion::number(7));
//! recorder.list(List { kind: pods, namespace: None, version, objects: [pod(5, "Pending")] }, time(1)?)?;
//! recorder.change(pods, EventType::Modified, &pod(8, "Running"), time(2)?)?;
//! recorder.change(pods, EventType::Deleted, &pod(9, "Succeeded"), time(3)?)?;
//! recorder.flush(time(3)?)?; // about once a second
//!
//! let history = History::open(&folder)?;
//! let pods = history.kind("pods")?;
//! let snapshot = history.at(time(2)?)?;
//! let found = snapshot.get(pods, &"web/a".parse()?)?.expect("it existed");
//! assert_eq!(found.object()?.read::<&str>("/status/phase")?, Some("Running"));
//! assert!(history.at(time(3)?)?.is_empty());
//!
//! let changes = history.changes(time(0)?..time(3)?, Filter::new().changed("/status/phase"))?;
//! assert_eq!(changes.count(), 3);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - **Any moment.** [`History::at`] returns the objects of each kind as the server had them, unless the moment is in a [`Gap`] of the
//!   kind. Changes of different kinds are ordered by the time at which they were received.
//! - **Gaps are recorded.** If a watch was lost, the recorder did not run or a file is damaged, [`History::gaps`] has the time and the
//!   reason. The differences that the next list finds are recorded as changes with [`Source::List`].
//! - **A crash loses at most the changes since the last [`Recorder::flush`].** A partly written frame is ignored.
//! - **Damage is detected.** Every frame has a checksum. Other frames are readable, and the rest of the damaged segment is a gap.
//! - **One recorder per folder.** The folder is locked, and only its owner can access it. Secrets are recorded only if configured.
//!
//! # File format
//!
//! A history consists of segments. Each starts with a checkpoint of all objects and needs no other segment, so that the retention
//! removes whole files. A version of an object is compressed with zstd against its previous version; every 17th against the first
//! version in the segment, which bounds the work to read one. First versions are compressed with a dictionary of their kind. An index
//! file has the positions of all versions by object, so that those of one object are found without reading the others. The index of the
//! last segment is stored from time to time, and its end is scanned.
//!
//! Embedded databases were measured and not chosen: redb and fjall lock out reading processes while the recorder runs, and their
//! folders are 45 % to 105 % larger than a log for values of this size.

mod kind;
mod error;
mod encoding;
mod compression;
mod frame;
mod record;
mod index;
mod stored_index;
mod folder;
mod segment;
mod redaction;
mod manager;
mod options;
mod active;
mod live;
mod recorder;
mod view;
mod diff;
mod gap;
mod snapshot;
mod changes;
mod transitions;
mod history;
mod replay;

pub use changes::{Changes, Filter};
pub use diff::{FieldChange, diff};
pub use error::{ReadError, RecordError};
pub use gap::Gap;
pub use history::{ClockStep, History, ObjectHistory, Span};
pub use kind::{Kind, KindId, Scope};
pub use options::{RecorderOptions, Secrets};
pub use record::{Event, Source};
pub use recorder::{List, Recorded, Recorder, Statistics};
pub use redaction::Redaction;
pub use replay::{InitialList, Replay, ReplayEvent, ReplayEvents};
pub use snapshot::Snapshot;
pub use transitions::Transition;
pub use view::Version;
