//! Objects in protobuf.

use crate::objects::lazy;
use k8s_openapi::{
    api::core::v1::{Pod, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_informer_wire::{
    Format, ManagedFields, Raw, Schema, open_protobuf, protobuf_metadata, protobuf_with_version,
};
use serde_json::Value;

/// Kinds with all types of fields: maps, bytes, times, quantities, nested messages.
const KINDS: [(&str, &str); 4] = [
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apps/v1", "StatefulSet"),
];

pub(crate) fn objects(data: &[u8]) {
    if let Ok(raw) = open_protobuf(&data.to_vec().into()) {
        object(&raw);
    }
    for (api_version, kind) in KINDS {
        let schema = Schema::of(api_version, kind).expect("it is there");
        object(&Raw::new(Format::ProtobufItem(schema), data.to_vec().into()));
    }
    drop((protobuf_metadata(data), protobuf_with_version(data, "7")));
}

fn object(raw: &Raw) {
    drop(raw.identity());
    lazy(raw);
    drop(raw.validate_managed_fields());
    drop((raw.decode::<Pod>(ManagedFields::Keep), raw.decode::<Secret>(ManagedFields::Drop)));
    drop(raw.decode::<CustomResourceDefinition>(ManagedFields::Keep));
    let Ok(value) = raw.decode::<Value>(ManagedFields::Keep) else { return };
    let (Format::Protobuf(schema) | Format::ProtobufItem(schema)) = raw.format() else { return };
    // Protobuf that Go does not produce cannot always be encoded again.
    if let Ok(encoded) = schema.encode(&value) {
        let again = Raw::new(raw.format(), encoded.into()).decode::<Value>(ManagedFields::Keep);
        let again = again.expect("what was encoded can be read");
        let Ok(twice) = schema.encode(&again) else { panic!("what was read was encoded before: {again}") };
        let again_twice = Raw::new(raw.format(), twice.into()).decode::<Value>(ManagedFields::Keep);
        assert_eq!(again_twice.ok(), Some(again), "from {value}");
    }
    let stripped = raw.without_managed_fields();
    assert!(stripped.bytes().len() <= raw.bytes().len());
}
