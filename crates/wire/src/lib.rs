//! The data types and encodings of the Kubernetes API, for clients and servers, without IO.
//!
//! All functions convert between bytes or text and typed values. Errors have the position or the path of invalid input.
//!
//! | part | types |
//! |---|---|
//! | key of an object | [`Key`], [`KeyRef`], [`KeyMap`] |
//! | version of an object or a list | [`ResourceVersion`] |
//! | selectors | [`LabelSelector`], [`FieldSelector`], [`ShardSelector`] |
//! | options of a request | [`ListOptions`], [`WatchOptions`], [`Query`] |
//! | status of a response | [`StatusExt`], [`status_from_body`], [`status_to_json`] |
//! | encoded object | [`Raw`], [`Format`], [`Identity`], [`ManagedFields`], [`Lazy`], [`decode_object`] |
//! | values of a field | [`FieldPath`], [`FieldValues`] |
//! | items of a list | [`Items`], [`JsonList`], [`ProtobufList`] |
//! | frames of a watch | [`Frames`], [`JsonLines`], [`ProtobufFrames`] |
//! | events of a watch | [`Frame`], [`WatchEvent`], [`encode_event`] |
//! | protobuf schemas | [`Schema`], [`open_protobuf`] |
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
pub mod rng;

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
pub use object::{
    ContentHash, FieldPath, FieldPathError, FieldValues, Format, Identity, Lazy, ManagedFields, ObjectError,
    Raw, decode_object, open_protobuf,
};
pub use options::{ListOptions, Query, QueryError, VersionMatch, WatchOptions};
pub use protobuf::{
    EncodeError, KUBERNETES_MINOR, ProtobufError, Schema, join_protobuf_list, protobuf_metadata,
    protobuf_with_version,
};
pub use selector::{
    FieldOperator, FieldRequirement, FieldSelector, LabelOperator, LabelRequirement, LabelSelector,
    MAX_SELECTOR_LENGTH, SelectorError, ShardField, ShardRange, ShardSelector,
};
pub use status::{StatusExt, parse_retry_after, status_from_body, status_to_json};
pub use version::{ResourceVersion, VersionError};
pub use watch::{
    DecodeError, EventType, Frame, Frames, WatchEvent, encode_bookmark, encode_error, encode_event,
    encode_initial_events_end,
};
