//! Compares the values of a field with those in the JSON of the object.

use super::*;
use crate::{Format, ManagedFields, Schema};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube_core::DynamicObject;
use proptest::prelude::*;
use serde_json::{Value, json};

fn values_of(object: &impl FieldValues, path: &str) -> Vec<String> {
    let mut values = Vec::new();
    object.field_values(&path.parse().unwrap(), &mut |value| values.push(value.to_owned()));
    values
}

/// The values of a field according to a decoded JSON value.
fn model(object: &Value, path: &str) -> Vec<String> {
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match object.pointer(path) {
        None => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().filter_map(scalar).collect(),
        Some(value) => scalar(value).into_iter().collect(),
    }
}

fn raw(object: &Value) -> Raw {
    Raw::new(Format::Json, object.to_string().into())
}

const PATHS: [&str; 14] = [
    "/metadata/name",
    "/metadata/labels/a~1b",
    "/metadata/labels",
    "/metadata/finalizers",
    "/metadata/finalizers/1",
    "/metadata/finalizers/2",
    "/metadata/finalizers/01",
    "/metadata/creationTimestamp",
    "/spec/nodeName",
    "/spec/priority",
    "/spec/hostNetwork",
    "/spec/containers/0/ports/0/containerPort",
    "/spec/containers/0/livenessProbe/httpGet/port",
    "/spec/unknown",
];

#[test]
fn every_representation_of_an_object_has_the_same_values() {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "labels": {"a/b": "c"},
            "finalizers": ["d", "e"],
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "nodeName": "",
            "priority": -7,
            "hostNetwork": true,
            "containers": [{
                "name": "f",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": "web"}},
            }],
        },
    });
    let json = raw(&object);
    let schema = Schema::of("v1", "Pod").unwrap();
    let protobuf = Raw::new(Format::Protobuf(schema), schema.encode(&object).unwrap().into());
    let pod: Pod = json.decode(ManagedFields::Keep).unwrap();
    let dynamic: DynamicObject = json.decode(ManagedFields::Keep).unwrap();
    let lazy = protobuf.lazy::<Pod>(ManagedFields::Keep).unwrap();
    let mut found = 0;
    for path in PATHS {
        let expected = model(&object, path);
        found += expected.len();
        assert_eq!(values_of(&json, path), expected, "JSON {path}");
        assert_eq!(values_of(&protobuf, path), expected, "protobuf {path}");
        assert_eq!(values_of(&pod, path), expected, "Pod {path}");
        assert_eq!(values_of(&dynamic, path), expected, "DynamicObject {path}");
        assert_eq!(values_of(&lazy, path), expected, "Lazy {path}");
    }
    assert_eq!(found, 10);
}

#[test]
fn bytes_have_their_text_in_json() {
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "dmFsdWU="}});
    let schema = Schema::of("v1", "Secret").unwrap();
    let protobuf = Raw::new(Format::ProtobufItem(schema), schema.encode(&object).unwrap().into());
    let secret: Secret = protobuf.decode(ManagedFields::Keep).unwrap();
    assert_eq!(values_of(&protobuf, "/data/k"), ["dmFsdWU="]);
    assert_eq!(values_of(&secret, "/data/k"), ["dmFsdWU="]);
}

#[test]
fn malformed_bytes_have_no_values() {
    for text in ["", "{", "[1", r#"{"a":"#, r#"{"a":["b","#] {
        assert!(values_of(&Raw::new(Format::Json, text.into()), "/a").is_empty(), "{text}");
    }
}

/// A type with all variants of serde.
#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(char, f32),
    Struct { a: Option<u16>, b: (i8, bool) },
}

#[test]
fn enums_and_tuples_have_the_values_of_their_json() {
    let shapes = [
        Shape::Unit,
        Shape::Newtype(1),
        Shape::Tuple('x', 0.5),
        Shape::Struct { a: Some(2), b: (-3, false) },
        Shape::Struct { a: None, b: (0, true) },
    ];
    let object = serde_json::to_value(&shapes).unwrap();
    for path in [
        "/0",
        "/1/Newtype",
        "/2/Tuple",
        "/2/Tuple/1",
        "/3/Struct/a",
        "/3/Struct/b",
        "/4/Struct/a",
        "/4/Struct",
    ] {
        assert_eq!(values_of(&shapes, path), model(&object, path), "{path}");
    }
    assert_eq!(values_of(&shapes, "/3/Struct/b"), ["-3", "false"]);
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<i16>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[a~/\"é]{0,2}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a~/é01]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn bytes_and_objects_have_the_values_of_the_json(
        data in value(),
        path in "/a(/([aé012]{0,2}|~0|~1|a)){0,4}",
    ) {
        let object = json!({"metadata": {"name": "n"}, "a": data});
        let expected = model(&object, &path);
        prop_assert_eq!(values_of(&raw(&object), &path), &expected[..]);
        prop_assert_eq!(values_of(&object, &path), &expected[..]);
        let dynamic: DynamicObject = raw(&object).decode(ManagedFields::Keep).unwrap();
        prop_assert_eq!(values_of(&dynamic, &path), &expected[..]);
    }
}
