//! Protobuf and JSON decode to the same values.

use crate::corpus;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube_core::{DynamicObject, PartialObjectMeta};
use kube_informer_wire::{Format, ManagedFields, Raw, Schema, open_protobuf, status_from_body};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

fn both(kind: &str) -> (Raw, Raw) {
    let object = corpus::one(kind);
    (Raw::new(Format::Json, object.json.to_string().into()), open_protobuf(&object.body).unwrap())
}

fn same<K: DeserializeOwned + Debug>(kind: &str) -> K {
    let (json, protobuf) = both(kind);
    for managed_fields in [ManagedFields::Drop, ManagedFields::Keep] {
        let shown = |raw: &Raw| format!("{:?}", raw.decode::<K>(managed_fields).unwrap());
        assert_eq!(shown(&json), shown(&protobuf));
    }
    protobuf.decode(ManagedFields::Keep).unwrap()
}

#[test]
fn untyped_objects_are_equal() {
    for object in corpus::all() {
        let decoded: Value = open_protobuf(&object.body).unwrap().decode(ManagedFields::Keep).unwrap();
        assert_eq!(decoded, object.json, "{} {}", object.api_version, object.kind);
    }
}

#[test]
fn encodes_to_the_bytes_that_go_writes() {
    for object in corpus::all() {
        let schema = Schema::of(&object.api_version, &object.kind).unwrap();
        let body = schema.body(&schema.encode(&object.json).unwrap());
        assert_eq!(body, object.body, "{} {}", object.api_version, object.kind);
        let of_text = schema.body(&schema.encode_json(&object.json.to_string()).unwrap());
        assert_eq!(of_text, object.body, "{} {}", object.api_version, object.kind);
    }
}

#[test]
fn json_text_encodes_as_its_value() {
    let schema = Schema::of("v1", "ConfigMap").unwrap();
    for text in [
        r#"{"data":{"a":"1","b":"2","a":"3"},"metadata":{"name":"x","name":"y"}}"#,
        r#"{"d\u0061ta":{"\n":"\u00e9\"","z":"\\"},"metadata":null}"#,
        r#"{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{".":{},"k:{\"x\":1.5}":[1,-2,1e3,true,null]}}}]}}"#,
        r#"{"immutable":false,"data":{"a":null},"unknown":[{}]}"#,
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        let decoded = |bytes: Vec<u8>| {
            open_protobuf(&schema.body(&bytes)).unwrap().decode::<Value>(ManagedFields::Keep).unwrap()
        };
        assert_eq!(
            decoded(schema.encode_json(text).unwrap()),
            decoded(schema.encode(&value).unwrap()),
            "{text}"
        );
    }
    for (text, wrong) in [
        ("{", "invalid JSON"),
        ("[]", "expected an object"),
        (r#"{"data":{"a":1}}"#, "data.a: expected a string"),
        (r#"{"immutable":"x"}"#, "immutable: expected a boolean"),
    ] {
        let error = schema.encode_json(text).unwrap_err().to_string();
        assert!(error.ends_with(wrong), "{error}");
    }
}

#[test]
fn all_kinds_of_types_decode_alike() {
    same::<Pod>("Pod");
    same::<Secret>("Secret");
    let dynamic = same::<DynamicObject>("StatefulSet");
    assert_eq!(dynamic.types.unwrap().kind, "StatefulSet");
    same::<PartialObjectMeta<Pod>>("PartialObjectMetadata");

    /// Five fields of a pod.
    #[derive(Debug, Deserialize, PartialEq)]
    struct Slim {
        metadata: Metadata,
        #[serde(default)]
        spec: Spec,
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        name: Option<String>,
        resource_version: Option<String>,
        #[serde(default)]
        labels: std::collections::BTreeMap<String, String>,
    }
    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Spec {
        node_name: Option<String>,
        host_network: Option<bool>,
    }
    let slim = same::<Slim>("Pod");
    assert_eq!(Some(slim.metadata.name.unwrap_or_default()), identity_name("Pod"));
}

#[test]
fn lists_and_texts_have_no_spare_capacity() {
    let pod: Pod = both("Pod").1.decode(ManagedFields::Keep).unwrap();
    let (name, spec) = (pod.metadata.name.unwrap(), pod.spec.unwrap());
    assert_eq!((name.capacity(), spec.containers.capacity()), (name.len(), spec.containers.len()));
    let owners = pod.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners.capacity(), owners.len());
}

fn identity_name(kind: &str) -> Option<String> {
    both(kind).1.identity().map(|identity| identity.name.into_owned())
}

#[test]
fn managed_fields_are_dropped_in_both_encodings() {
    let (json, protobuf) = both("StatefulSet");
    let mut expected = corpus::one("StatefulSet").json;
    let fields = expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert!(fields.is_some(), "the object has some");
    for raw in [json, protobuf] {
        assert_eq!(raw.decode::<Value>(ManagedFields::Drop).unwrap(), expected);
        let stripped = raw.without_managed_fields();
        assert!(stripped.bytes().len() < raw.bytes().len());
        assert_eq!(stripped.decode::<Value>(ManagedFields::Keep).unwrap(), expected);
        assert_eq!(stripped.without_managed_fields(), stripped);
    }
}

#[test]
fn managed_fields_are_cut_out_of_json_at_any_position() {
    for (json, expected) in [
        (r#"{"metadata":{"managedFields":[{"a":"]}"}],"name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
        (r#"{"metadata":{"managedFields":[]}}"#, r#"{"metadata":{}}"#),
        (
            r#"{ "metadata" : { "name":"a" , "managedFields" : [ ] } , "b":1 }"#,
            r#"{"metadata":{"name":"a"},"b":1}"#,
        ),
        (
            r#"{"a":{"managedFields":1},"metadata":{"b":"\"","managedFields":null,"c":2}}"#,
            r#"{"a":{"managedFields":1},"metadata":{"b":"\"","c":2}}"#,
        ),
        (r#"{"metadata":null}"#, r#"{"metadata":null}"#),
    ] {
        let raw = Raw::new(Format::Json, json.into());
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(raw.decode::<Value>(ManagedFields::Drop).unwrap(), expected, "{json}");
    }
}

#[test]
fn reads_the_identity_without_decoding() {
    for kind in ["Pod", "Secret", "CustomResourceDefinition"] {
        let metadata = &corpus::one(kind).json["metadata"];
        let (json, protobuf) = both(kind);
        for raw in [json, protobuf] {
            let identity = raw.identity().unwrap();
            let parts = [&identity.name, &identity.namespace, &identity.uid, &identity.version];
            let names = ["name", "namespace", "uid", "resourceVersion"];
            for (part, name) in parts.into_iter().zip(names) {
                assert_eq!(*part, metadata[name].as_str().unwrap_or_default(), "{kind} {name}");
            }
        }
    }
    let cluster = r#"{"metadata":{"name":"n","uid":"u","resourceVersion":"7","labels":{"name":"x"}}}"#;
    let raw = Raw::new(Format::Json, cluster.into());
    let identity = raw.identity().unwrap();
    assert_eq!((identity.key().unwrap().as_str(), identity.version().unwrap().to_number()), ("n", Some(7)));
    for malformed in ["", "[]", "{", r#"{"metadata":{"name":7}}"#, r#"{"metadata":{"name"}}"#] {
        assert_eq!(Raw::new(Format::Json, malformed.into()).identity(), None, "{malformed}");
    }
}

#[test]
fn items_of_lists_have_no_kind() {
    let schema = Schema::of("v1", "Pod").unwrap();
    let bytes = schema.encode(&json!({ "metadata": { "name": "a" }, "spec": { "containers": [] } })).unwrap();
    let decode =
        |format| Raw::new(format, bytes.clone().into()).decode::<Value>(ManagedFields::Keep).unwrap();
    assert_eq!(decode(Format::ProtobufItem(schema)).get("kind"), None);
    let whole = decode(Format::Protobuf(schema));
    assert_eq!((&whole["kind"], &whole["apiVersion"]), (&json!("Pod"), &json!("v1")));
}

#[test]
fn decodes_a_status_in_protobuf() {
    let schema = Schema::of("v1", "Status").unwrap();
    let status = json!({ "status": "Failure", "code": 410, "reason": "Expired", "message": "old",
        "details": { "retryAfterSeconds": 3, "causes": [{ "reason": "A" }] } });
    let status = status_from_body(500, &schema.body(&schema.encode(&status).unwrap()));
    assert_eq!((status.code, status.message.as_str(), status.reason.as_str()), (410, "old", "Expired"));
    assert_eq!(status.details.unwrap().retry_after_seconds, 3);
}

#[test]
fn encode_errors_have_a_path() {
    let schema = Schema::of("v1", "Pod").unwrap();
    let wrong = json!({ "spec": { "containers": [{ "name": "a" }, { "name": 7 }] } });
    let error = schema.encode(&wrong).unwrap_err();
    assert_eq!(error.to_string(), "object cannot be encoded at spec.containers[1].name: expected a string");
}
