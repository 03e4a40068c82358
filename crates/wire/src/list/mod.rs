//! The body of a list: items as they arrive, and what the list says of itself.

mod meta;

mod scanner;

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
