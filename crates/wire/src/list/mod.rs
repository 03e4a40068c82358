//! The body of a list: its items as they arrive, and its metadata.

mod meta;

mod error;

mod json;

mod protobuf;

mod items;

#[cfg(test)]
mod tests;

pub use error::ListError;
pub use items::Items;
pub use json::JsonList;
pub use meta::ListMeta;
pub use protobuf::ProtobufList;
