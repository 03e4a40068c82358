//! Random objects that Go wrote in both encodings.
//!
//! Each has four parts with their lengths: apiVersion, kind, JSON, protobuf. They are written by `tables/fill`.

use bytes::Bytes;
use serde_json::Value;

/// One object in both encodings.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) json: Value,
    /// A body with its envelope.
    pub(crate) body: Bytes,
}

pub(crate) fn all() -> Vec<Object> {
    let mut stream = Bytes::from_static(include_bytes!("objects.bin"));
    let mut objects = Vec::new();
    while !stream.is_empty() {
        let [api_version, kind, json, body] = std::array::from_fn(|_| {
            let length = stream.split_to(4);
            stream.split_to(u32::from_be_bytes(length[..].try_into().unwrap()) as usize)
        });
        let utf8 = |text: Bytes| String::from_utf8(text.into()).unwrap();
        let json = serde_json::from_slice(&json).unwrap();
        objects.push(Object { api_version: utf8(api_version), kind: utf8(kind), json, body });
    }
    objects
}

/// Returns the first object of a kind.
pub(crate) fn one(kind: &str) -> Object {
    all().into_iter().find(|object| object.kind == kind).unwrap()
}
