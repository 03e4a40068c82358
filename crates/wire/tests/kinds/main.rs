//! Objects of every kind, written by Go in both encodings, decode to the same values.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod difference;
mod objects;
mod typed;

use difference::difference;
use kube_core::DynamicObject;
use kube_informer_wire::{Format, ManagedFields, Raw, Schema, open_protobuf};
use objects::Times;
use serde_json::Value;

#[test]
fn typed_objects_are_equal() {
    let compare = typed::all();
    let mut found = std::collections::BTreeSet::new();
    for object in objects::random(1, Times::SomeUnset) {
        let Some(compare) = compare.get(&(&*object.api_version, &*object.kind)) else { continue };
        let protobuf = open_protobuf(&object.protobuf).unwrap();
        if let Err(error) = compare(&Raw::new(Format::Json, object.json), &protobuf) {
            panic!("{error}");
        }
        found.insert((object.api_version, object.kind));
    }
    let missing: Vec<_> = compare
        .keys()
        .filter(|(version, kind)| !found.contains(&(version.to_string(), kind.to_string())))
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
fn every_part_reads_as_it_decodes() {
    let mut parts = 0;
    for object in objects::random(4, Times::SomeUnset) {
        let protobuf = open_protobuf(&object.protobuf).unwrap();
        for raw in [Raw::new(Format::Json, object.json), protobuf] {
            // Kinds such as options have no valid metadata.
            let Ok(lazy) = raw.lazy::<DynamicObject>(ManagedFields::Keep) else {
                assert!(raw.decode::<DynamicObject>(ManagedFields::Keep).is_err(), "{raw:?}");
                continue;
            };
            let whole: Value = raw.decode(ManagedFields::Keep).unwrap();
            each_part(&whole, "", &mut |pointer, value| {
                parts += 1;
                // Each read scans all that precedes it, so only some are tested.
                if parts % 8 == 0 {
                    let read = lazy.read::<Value>(pointer).unwrap();
                    assert_eq!(read.as_ref(), Some(value).filter(|value| !value.is_null()), "{pointer}");
                }
            });
        }
    }
    assert!(parts > 100_000, "{parts}");
}

/// Calls a function with each nested value and its pointer.
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
fn encodes_to_the_bytes_that_go_writes() {
    let mut same = 0;
    let mut ambiguous = 0;
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
        ambiguous += 1;
    }
    assert!(same > 50 * ambiguous, "{same} are the same, {ambiguous} are ambiguous in JSON");
}
