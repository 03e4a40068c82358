//! Decodes objects of any encoding with one serde deserializer, so that a type is compiled for it once.

mod error;

mod text;

mod within;

mod token;

mod name;

mod access;

mod node;

mod object;

#[cfg(test)]
mod tests;

pub(crate) use error::Error;
pub(crate) use object::{from_json, from_protobuf};
