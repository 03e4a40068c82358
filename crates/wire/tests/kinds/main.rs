//! Objects of every kind, written by Go in both encodings: what they decode to is the same.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod difference;
mod objects;
mod typed;

use difference::difference;
use kube_core::DynamicObject;
use kube_informer_wire::{Format, Lazy, ManagedFields, Raw, Schema, open_protobuf};
use objects::Times;
use serde_json::Value;

#[test]
fn typed_objects_are_equal() {
    let compare = typed::all();
    let mut met = std::collections::BTreeSet::new();
    for object in objects::random(1, Times::SomeUnset) {
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
    for object in objects::random(2, Times::SomeUnset) {
        let protobuf: Value = open_protobuf(&object.protobuf).unwrap().decode(ManagedFields::Keep).unwrap();
        let json: Value = serde_json::from_slice(&object.json).unwrap();
        let difference = difference(&json, &protobuf);
        assert_eq!(difference, None, "{} {}", object.api_version, object.kind);
    }
}

#[test]
fn every_part_is_read_as_it_is_decoded() {
    let mut parts = 0;
    for object in objects::random(4, Times::SomeUnset) {
        let protobuf = open_protobuf(&object.protobuf).unwrap();
        for raw in [Raw::new(Format::Json, object.json), protobuf] {
            // What is no object of a cluster, as options are, has metadata that are none.
            let Ok(lazy) = raw.decode::<Lazy<DynamicObject>>(ManagedFields::Keep) else {
                assert!(raw.decode::<DynamicObject>(ManagedFields::Keep).is_err(), "{raw:?}");
                continue;
            };
            let whole: Value = raw.decode(ManagedFields::Keep).unwrap();
            each_part(&whole, "", &mut |pointer, value| {
                parts += 1;
                // Each takes a walk through all that is before it, so that some have to do.
                if parts % 8 == 0 {
                    let read = lazy.read::<Value>(pointer).unwrap();
                    assert_eq!(read.as_ref(), Some(value).filter(|value| !value.is_null()), "{pointer}");
                }
            });
        }
    }
    assert!(parts > 100_000, "{parts}");
}

/// Shows each value that is within another, with the pointer to it.
fn each_part(value: &Value, pointer: &str, show: &mut impl FnMut(&str, &Value)) {
    show(pointer, value);
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            each_part(value, &format!("{pointer}/{name}"), show);
        }),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .for_each(|(at, value)| each_part(value, &format!("{pointer}/{at}"), show)),
        _ => {}
    }
}

#[test]
fn what_is_encoded_is_what_go_writes() {
    let (mut same, mut untold) = (0, 0);
    for object in objects::random(3, Times::Set) {
        let json: Value = serde_json::from_slice(&object.json).unwrap();
        let schema = Schema::of(&object.api_version, &object.kind).unwrap();
        let body = schema.body(&schema.encode(&json).unwrap());
        if body == object.protobuf {
            same += 1;
            continue;
        }
        let read: Value = open_protobuf(&body).unwrap().decode(ManagedFields::Keep).unwrap();
        let difference = difference(&json, &read).unwrap_or_default();
        // A pointer to an empty choice of schemas is null in JSON, as is no pointer.
        assert!(difference.ends_with(": Some(Null) and None"), "{schema:?} at {difference}");
        untold += 1;
    }
    assert!(same > 50 * untold, "{same} are the same, of {untold} JSON does not tell all");
}
