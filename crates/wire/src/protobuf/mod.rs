//! Kubernetes protobuf, decoded and encoded by tables that map each message to JSON.

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

mod value_ref;

mod repeated;
mod message_fields;

mod field_bytes;

mod borrowed;

mod encode;

mod body;

pub use body::join_protobuf_list;
pub use encode::EncodeError;
pub(crate) use envelope::{Envelope, EnvelopeTypes, MAGIC, check_content_encoding};
pub(crate) use error::Cause;
pub use error::ProtobufError;
pub(crate) use field_bytes::{field_bytes, metadata_field_bytes};
pub(crate) use forms::Form;
pub(crate) use identity::Names;
pub(crate) use message_fields::MessageFields;
pub(crate) use reader::{Reader, Tag, Wire};
pub(crate) use repeated::{Elements, Entries};
pub use schema::{KUBERNETES_MINOR, Schema};
pub(crate) use strip::{parts_without_managed_fields, without_managed_fields};
pub use strip::{protobuf_metadata, protobuf_with_version};
pub(crate) use table::{Field, Shape, Value};
pub(crate) use time::TimeText;
pub(crate) use value_ref::{Next, Object, ValueRef};
#[cfg(test)]
pub(crate) use writer::Writer;
