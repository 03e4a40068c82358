//! Reading parts of a lazy object agrees with decoding it.

use super::*;
use crate::protobuf::Schema;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};
use kube_core::{DynamicObject, ResourceExt};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::error::Error as _;

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "labels": {"l/m": "é\"", "n~o": "p", "q~1r": "s"},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {"f:b": {}}}}],
        },
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}, {"name": "d"}]},
        "status": {"phase": "Running", "startTime": "2026-01-02T03:04:05Z"},
    })
}

/// Encodes an object in each format.
fn formats(object: &Value) -> [Raw; 3] {
    let schema = Schema::of("v1", object["kind"].as_str().unwrap()).unwrap();
    let protobuf = Bytes::from(schema.encode(object).unwrap());
    [
        Raw::new(Format::Json, object.to_string().into()),
        Raw::new(Format::Protobuf(schema), protobuf.clone()),
        Raw::new(Format::ProtobufItem(schema), protobuf),
    ]
}

#[test]
fn parts_and_the_whole_object_decode() {
    for raw in formats(&pod()) {
        let lazy = raw.lazy::<Pod>(ManagedFields::Keep).unwrap();
        assert_eq!(lazy.raw(), &raw);
        assert_eq!(lazy.decode().unwrap(), raw.decode(ManagedFields::Keep).unwrap());
        assert_eq!(lazy.read::<&str>("/spec/containers/1/name").unwrap(), Some("d"));
        assert_eq!(lazy.read::<String>("/metadata/labels/l~1m").unwrap().unwrap(), "é\"");
        assert_eq!(lazy.read::<Cow<'_, str>>("/metadata/labels/n~0o").unwrap().unwrap(), "p");
        assert_eq!(lazy.read::<&str>("/metadata/labels/q~01r").unwrap(), Some("s"));
        let status: PodStatus = lazy.read("/status").unwrap().unwrap();
        assert_eq!(Some(status), lazy.decode().unwrap().status);
        for absent in [
            "/spec/containers/2",
            "/spec/containers/01",
            "/spec/containers/-",
            "/status/podIP",
            "/spec/nodeName/x",
            "/",
            "/status/",
        ] {
            assert_eq!(lazy.read::<Value>(absent).unwrap(), None, "{absent}");
        }
    }
}

#[test]
fn keeps_only_its_own_bytes_and_metadata() {
    assert!(size_of::<Lazy<Pod>>() <= size_of::<ObjectMeta>() + size_of::<Raw>() + size_of::<usize>());
    for raw in formats(&pod()) {
        // A slice of a larger buffer, which must not be kept in memory.
        let buffer = Bytes::from([&raw.bytes()[..], &[0; 4096]].concat());
        let within = Raw::new(raw.format(), buffer.slice(..raw.bytes().len()));
        let lazy = within.lazy::<Pod>(ManagedFields::Keep).unwrap();
        drop(within);
        assert_eq!(lazy.raw(), &raw);
        assert!(buffer.is_unique());
    }
}

#[test]
fn metadata_is_decoded_except_for_managed_fields() {
    for raw in formats(&pod()) {
        let lazy = raw.lazy::<Pod>(ManagedFields::Keep).unwrap();
        let whole: Pod = raw.decode(ManagedFields::Drop).unwrap();
        assert_eq!(lazy.meta(), &whole.metadata);
        assert_eq!(lazy.labels()["n~o"], "p");
        let manager = lazy.read::<&str>("/metadata/managedFields/0/manager").unwrap();
        assert_eq!(manager, Some("m"));
        raw.check_identity(&lazy).unwrap();
    }
}

#[test]
fn dropped_managed_fields_are_not_in_the_bytes() {
    for raw in formats(&pod()) {
        let lazy = raw.lazy::<Pod>(ManagedFields::Drop).unwrap();
        assert!(lazy.raw().bytes().len() < raw.bytes().len());
        assert_eq!(lazy.read::<Value>("/metadata/managedFields").unwrap(), None);
        assert_eq!(lazy.decode().unwrap(), raw.decode(ManagedFields::Drop).unwrap());
    }
}

#[test]
fn duplicate_and_escaped_managed_fields_are_dropped() {
    for metadata in [r#"{"managed\u0046ields":[{}]}"#, r#"{"managedFields":[],"managedFields":[{}]}"#] {
        let raw = Raw::new(Format::Json, format!(r#"{{"metadata":{metadata}}}"#).into());
        let lazy = raw.lazy::<Pod>(ManagedFields::Drop).unwrap();
        assert_eq!(lazy.clone().decode().unwrap(), Pod::default(), "{metadata}");
    }
}

#[test]
fn deserializes_from_any_format() {
    let of_text: Lazy<Pod> = serde_json::from_str(&pod().to_string()).unwrap();
    let of_value: Lazy<Pod> = serde_json::from_value(pod()).unwrap();
    assert_eq!(of_text, of_value);
    assert_eq!(of_text.clone(), of_text);
    let mut other = pod();
    other["spec"]["nodeName"] = json!("m");
    assert_ne!(serde_json::from_value::<Lazy<Pod>>(other).unwrap(), of_text);
    assert_eq!(of_value.read::<Value>("").unwrap(), Some(pod()));
    let list: Vec<Lazy<Pod>> = serde_json::from_value(json!([pod(), pod()])).unwrap();
    assert_eq!(list[1].read::<&str>("/spec/nodeName").unwrap(), Some("n"));
}

#[test]
fn has_the_kind_of_its_type() {
    assert_eq!(Lazy::<Pod>::kind(&()), "Pod");
    assert_eq!(Lazy::<Pod>::group(&()), "");
    assert_eq!(Lazy::<Pod>::version(&()), "v1");
    assert_eq!(Lazy::<Pod>::api_version(&()), "v1");
    assert_eq!(Lazy::<Pod>::plural(&()), "pods");
    assert_eq!(Lazy::<Pod>::url_path(&(), Some("b")), "/api/v1/namespaces/b/pods");
}

#[test]
fn changed_metadata_does_not_change_the_bytes() {
    let mut lazy: Lazy<Pod> = serde_json::from_value(pod()).unwrap();
    lazy.meta_mut().labels = None;
    assert!(lazy.labels().is_empty());
    assert_eq!(lazy.read::<&str>("/metadata/labels/n~0o").unwrap(), Some("p"));
}

#[test]
fn debug_does_not_show_values() {
    let mut secret = pod();
    secret["metadata"]["annotations"] = json!({"hidden": "word"});
    let lazy: Lazy<Pod> = serde_json::from_value(secret).unwrap();
    let shown = r#"Lazy { namespace: Some("b"), name: Some("a"), resource_version: Some("7"), .. }"#;
    assert_eq!(format!("{lazy:?}"), shown);
}

#[test]
fn escaped_text_and_times_cannot_be_borrowed() {
    let [json, protobuf, _] = formats(&pod());
    for raw in [&json, &protobuf] {
        let time = raw.read::<String>("/status/startTime").unwrap();
        assert_eq!(time.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert!(raw.read::<&str>("/metadata/labels/l~1m").is_ok() == (raw == &protobuf));
        assert!(raw.read::<&str>("/status/startTime").is_ok() == (raw == &json));
    }
}

#[test]
fn errors_do_not_show_values() {
    #[derive(Debug, Deserialize)]
    enum Phase {
        Pending,
    }
    assert!(matches!(serde_json::from_str(r#""Pending""#), Ok(Phase::Pending)));
    let mut hidden = pod();
    hidden["status"]["phase"] = json!("hidden word");
    for raw in formats(&hidden) {
        let error = raw.read::<Phase>("/status/phase").unwrap_err();
        let text = format!("{error}: {}", error.source().unwrap());
        assert!(text.ends_with("at status.phase: unknown variant, expected `Pending`"), "{text}");
    }
}

#[test]
fn a_part_of_another_type_is_reported_with_its_path() {
    for raw in formats(&pod()) {
        let lazy = raw.lazy::<Pod>(ManagedFields::Keep).unwrap();
        for (pointer, path) in
            [("/status/phase", "status.phase"), ("/spec/containers/0/name", "spec.containers[0].name")]
        {
            let error = lazy.read::<u32>(pointer).unwrap_err();
            assert_eq!(error.to_string(), format!("object b/a cannot be decoded at {path}"));
            assert_eq!(error.source().unwrap().to_string(), "invalid type: string, expected u32");
        }
        let error = lazy.read::<u32>("status.phase").unwrap_err();
        assert_eq!(error.to_string(), "object b/a cannot be decoded at status.phase");
        assert!(error.source().unwrap().to_string().contains("must start with a slash"));
    }
}

#[test]
fn invalid_objects_and_metadata_are_rejected() {
    let wrong = |json: &str| {
        let raw = Raw::new(Format::Json, json.to_owned().into());
        let error = raw.lazy::<Pod>(ManagedFields::Keep).unwrap_err();
        (error.path().to_owned(), error.is_malformed())
    };
    for (json, path, is_malformed) in [
        ("7", ".", false),
        ("[]", ".", false),
        (r#"[{"name":"a","namespace":"b"}]"#, ".", false),
        (r#"{"spec":{"#, ".", true),
        (r#"{"spec":{}"#, ".", true),
        (r#"{"metadata":{"labels":{"a":1}}}"#, "metadata.labels.a", false),
        (r#"{"metadata":null}"#, "metadata", false),
        (r#"{"metadata":{},"metadata":{}}"#, ".", false),
    ] {
        assert_eq!(wrong(json), (path.to_owned(), is_malformed), "{json}");
        // `Deserialize` uses the last of duplicate fields.
        let is_duplicate = json.matches("metadata").count() > 1;
        assert_eq!(serde_json::from_str::<Lazy<Pod>>(json).is_ok(), is_duplicate, "{json}");
    }
    let schema = Schema::of("v1", "Pod").unwrap();
    let mut bytes = schema.encode(&pod()).unwrap();
    bytes.pop();
    let raw = Raw::new(Format::ProtobufItem(schema), bytes.into());
    let error = raw.lazy::<Pod>(ManagedFields::Keep).unwrap_err();
    assert_eq!(error.to_string(), "object b/a cannot be decoded at status");
}

#[test]
fn an_invalid_part_is_reported_when_it_is_read() {
    let json = r#"{"metadata":{"name":"a","namespace":"b"},"spec":{"a":},"status":{"phase":"Running"}}"#;
    let lazy = Raw::new(Format::Json, json.into()).lazy::<Pod>(ManagedFields::Keep).unwrap();
    assert_eq!(lazy.read::<&str>("/status/phase").unwrap(), Some("Running"));
    let errors = [lazy.read::<Value>("/spec/a").unwrap_err(), lazy.decode().unwrap_err()];
    for error in errors {
        assert_eq!((error.key().unwrap().as_str(), error.is_malformed()), ("b/a", true));
        assert_eq!(error.path(), "spec.a");
    }
}

#[test]
fn deserializes_inside_of_other_types() {
    #[derive(Debug, Deserialize)]
    struct Outer {
        metadata: Lazy<ConfigMap>,
    }
    for raw in formats(&pod()) {
        let outer: Outer = raw.decode(ManagedFields::Drop).unwrap();
        assert_eq!(outer.metadata.read::<&str>("/name").unwrap(), Some("a"));
    }
}

/// Generates any JSON.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a~/\"é0]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a~/\"é01]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_pointer_finds_what_it_finds_in_the_decoded_value(data in value(), pointer in "(/([a~/\"é012-]{0,2}|~0|~1|a)){0,4}") {
        let raw = Raw::new(Format::Json, json!({"a": data}).to_string().into());
        let lazy = raw.lazy::<DynamicObject>(ManagedFields::Keep).unwrap();
        for pointer in [format!("/a{pointer}"), pointer] {
            let found = lazy.read::<Value>(&pointer).unwrap();
            let expected = json!({"a": data}).pointer(&pointer).filter(|value| !value.is_null()).cloned();
            prop_assert_eq!(found, expected, "{}", pointer);
        }
    }
}
