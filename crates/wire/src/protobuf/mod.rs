//! Kubernetes protobuf, decoded and encoded by tables that say how each message stands in JSON.

mod error;

mod reader;
mod writer;

mod table;
#[rustfmt::skip]
mod tables;

mod schema;

mod envelope;

mod identity;
mod strip;

mod time;

mod forms;

mod place;

mod run;
mod walk;

mod borrowed;

mod encode;

mod body;

pub use body::join_protobuf_list;
pub use encode::EncodeError;
pub(crate) use envelope::{Envelope, MAGIC, TypesOf, not_encoded};
pub(crate) use error::Cause;
pub use error::ProtobufError;
pub(crate) use forms::Form;
pub(crate) use identity::Names;
pub(crate) use place::{Next, Object, Place, Skip};
pub(crate) use reader::{Reader, Tag, Wire};
pub(crate) use run::{Elements, Entries};
pub use schema::{KUBERNETES_MINOR, Schema};
pub(crate) use strip::without_managed_fields;
pub use strip::{protobuf_at_version, protobuf_metadata};
pub(crate) use table::{Field, Shape, Value};
pub(crate) use time::TimeText;
pub(crate) use walk::Walk;
