//! Decodes objects: JSON with serde_json, protobuf with a serde deserializer over the tables.

mod error;

mod list_lengths;

mod json;

mod name;

mod node;

mod pointer;

#[cfg(test)]
mod tests;

pub(crate) use error::{ValueError, redacted};
pub(crate) use json::{decode_json, json_text};
pub(crate) use node::decode_protobuf;
pub(crate) use pointer::{Pointer, element_index, read_json, read_protobuf};
