//! Kubernetes protobuf, decoded and encoded by tables that say how each message stands in JSON.

mod error;

mod reader;

mod table;
#[rustfmt::skip]
mod tables;

mod schema;

mod time;

mod forms;

mod walk;

mod leaf;

mod decode;

pub(crate) use error::Cause;
pub use error::ProtobufError;
pub use schema::Schema;
