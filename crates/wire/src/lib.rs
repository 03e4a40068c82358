//! What travels between a Kubernetes API server and its clients, as values: no sockets, no clock, no async runtime.
//!
//! Everything here is a pure function from bytes or text to a typed value and back, and both ends use it: the
//! informer reads what a server says, the devserver says it. Malformed input is an error that tells where.
//!
//! | what | where |
//! |---|---|
//! | the name of an object | [`Key`], [`KeyRef`], [`KeyMap`] |
//! | the version of an object or a list | [`ResourceVersion`] |
//! | which objects are meant | [`LabelSelector`], [`FieldSelector`], [`ShardSelector`] |
//! | what a request asks for | [`ListOptions`], [`WatchOptions`], [`Query`] |
//! | what a refusal says | [`StatusExt`], [`status_from_body`], [`status_to_json`] |
//! | an object as it came | [`Raw`], [`Format`], [`Identity`], [`ManagedFields`], [`decode_object`] |
//! | the body of a list as items | [`Items`], [`JsonList`], [`ProtobufList`] |
//! | a stream of bytes as frames | [`Frames`], [`JsonLines`], [`ProtobufFrames`] |
//! | a frame as an event, and back | [`Frame`], [`WatchEvent`], [`encode_event`] |
//! | kinds that have a protobuf form | [`Schema`], [`open_protobuf`] |
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_informer_wire::{JsonLines, LabelSelector, ResourceVersion, WatchEvent, WatchOptions};
//!
//! let front: LabelSelector = "tier=front".parse()?;
//! let options = WatchOptions { label_selector: front.clone(), ..WatchOptions::after(ResourceVersion::number(7)) };
//! let query = "watch=true&labelSelector=tier%3Dfront&resourceVersion=7&allowWatchBookmarks=true";
//! assert_eq!(options.to_query(), query);
//!
//! let mut lines = JsonLines::new();
//! lines.push(r#"{"type":"ADDED","object":{"metadata":{"name":"a","la"#.into());
//! lines.push("bels\":{\"tier\":\"front\"}}}}\n".into());
//! while let Some(frame) = lines.next()? {
//!     match WatchEvent::<Pod>::decode(&frame)? {
//!         WatchEvent::Added(pod) => assert!(front.matches(pod.metadata.labels.as_ref())),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod chance;

mod key;
mod version;

mod selector;

mod options;

mod protobuf;

mod json;

mod decode;

mod status;

mod pieces;

mod frame;

mod object;

mod list;

mod watch;

pub use frame::{FrameError, JsonLines, ProtobufFrames};
pub use key::{Key, KeyError, KeyHasher, KeyMap, KeyRef};
pub use list::{Items, JsonList, ListError, ListMeta, ProtobufList};
pub use object::{Format, Identity, Lazy, ManagedFields, ObjectError, Raw, decode_object, open_protobuf};
pub use options::{ListOptions, Query, QueryError, VersionMatch, WatchOptions};
pub use protobuf::{
    EncodeError, KUBERNETES_MINOR, ProtobufError, Schema, join_protobuf_list, protobuf_at_version,
    protobuf_metadata,
};
pub use selector::{
    Condition, FieldRequirement, FieldSelector, LabelRequirement, LabelSelector, MAX_SELECTOR_LENGTH,
    Relation, SelectorError, ShardField, ShardRange, ShardSelector,
};
pub use status::{StatusExt, parse_retry_after, status_from_body, status_to_json};
pub use version::{ResourceVersion, VersionError};
pub use watch::{
    DecodeError, EventType, Frame, Frames, WatchEvent, encode_bookmark, encode_error, encode_event,
    encode_initial_events_end,
};
