//! One object: its bytes, which one it is, and what it decodes to.

mod json;

mod identity;

mod raw;

mod error;

mod decode;

mod anything;

mod managed;

mod untyped;

mod lazy;

pub(crate) use decode::decode_json;
pub use decode::decode_object;
pub use error::ObjectError;
pub use identity::Identity;
pub use lazy::Lazy;
pub use raw::{Format, ManagedFields, Raw, open_protobuf};
