//! Decodes objects of any encoding with one serde deserializer, so that a type is compiled for it once.

mod error;

mod text;

mod within;

mod token;

mod name;

mod access;

mod as_sent;

mod node;

mod pointer;

mod object;

#[cfg(test)]
mod tests;

pub(crate) use as_sent::{AS_SENT, Sent};
pub(crate) use error::Error;
pub(crate) use object::{from_json, from_protobuf, from_text, part_of_json, part_of_protobuf};
pub(crate) use pointer::Pointer;
