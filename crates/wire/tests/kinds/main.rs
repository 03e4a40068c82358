//! Objects of every kind, written by Go in both encodings: what they decode to is the same.

mod difference;
mod objects;
mod typed;

use difference::difference;
use kube_informer_wire::{Format, ManagedFields, Raw, open_protobuf};
use serde_json::Value;

#[test]
fn typed_objects_are_equal() {
    let compare = typed::all();
    let mut met = std::collections::BTreeSet::new();
    for object in objects::random(1, 10) {
        let Some(compare) = compare.get(&(&*object.api_version, &*object.kind)) else { continue };
        let protobuf = open_protobuf(&object.protobuf).unwrap();
        if let Err(wrong) = compare(&Raw::new(Format::Json, object.json), &protobuf) {
            panic!("{wrong}");
        }
        met.insert((object.api_version, object.kind));
    }
    let missing: Vec<_> = compare
        .keys()
        .filter(|(version, kind)| !met.contains(&(version.to_string(), kind.to_string())))
        .collect();
    assert_eq!(missing, Vec::<&(&str, &str)>::new());
}

#[test]
fn untyped_objects_are_equal() {
    for object in objects::random(2, 10) {
        let protobuf: Value = open_protobuf(&object.protobuf).unwrap().decode(ManagedFields::Keep).unwrap();
        let json: Value = serde_json::from_slice(&object.json).unwrap();
        let difference = difference(&json, &protobuf);
        assert_eq!(difference, None, "{} {}", object.api_version, object.kind);
    }
}
