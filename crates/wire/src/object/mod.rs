//! One object: its bytes, its identity, and the value that it decodes to.

mod identity;

mod error;

mod content_hash;

mod raw;

mod validate;
mod untyped;

mod lazy;

mod differing;

mod field_path;

mod field_serializer;

mod field_values;

pub use content_hash::ContentHash;
pub use error::ObjectError;
pub use field_path::{FieldPath, FieldPathError};
pub use field_values::FieldValues;
pub use identity::Identity;
pub use lazy::Lazy;
pub(crate) use raw::decode_json_object;
pub use raw::{Format, ManagedFields, Raw, decode_object, open_protobuf};
