//! The few values that the server fills in because other rules here read them.

use crate::object::metadata;
use crate::registry::Resource;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Drops the status that a client gave a new object, where status is written on its own, and sets the first one.
pub(crate) fn reset_status(resource: &Resource, object: &mut Value) {
    // The kubelet registers its node together with the status.
    if !resource.has_status || resource.is("", "nodes") {
        return;
    }
    let fields = metadata::fields(object);
    if resource.is_custom() {
        fields.remove("status");
        return;
    }
    let first = match resource.storage() {
        ("", "pods") => json!({"phase": "Pending"}),
        ("", "namespaces") => json!({"phase": "Active"}),
        ("", "persistentvolumes" | "persistentvolumeclaims") => json!({"phase": "Pending"}),
        ("", "services") => json!({"loadBalancer": {}}),
        _ => json!({}),
    };
    fields.insert("status".to_owned(), first);
}

/// Fills in the fields that selectors, scales and tables read.
pub(crate) fn fill(resource: &Resource, object: &mut Value) {
    match resource.storage() {
        ("", "pods") => fill_spec(object, &POD),
        ("", "services") => {
            fill_spec(object, &[("type", Json::Text("ClusterIP")), ("sessionAffinity", Json::Text("None"))])
        }
        ("apps", "deployments" | "replicasets" | "statefulsets") | ("", "replicationcontrollers") => {
            fill_spec(object, &[("replicas", Json::Number(1))]);
        }
        ("batch", "jobs") => {
            fill_spec(object, &[("parallelism", Json::Number(1)), ("completions", Json::Number(1))])
        }
        ("", "namespaces") => fill_namespace(object),
        ("", "secrets") => fill_secret(object),
        _ => {}
    }
}

#[derive(Clone, Copy)]
enum Json {
    Text(&'static str),
    Number(i64),
}

const POD: [(&str, Json); 4] = [
    ("restartPolicy", Json::Text("Always")),
    ("dnsPolicy", Json::Text("ClusterFirst")),
    ("schedulerName", Json::Text("default-scheduler")),
    ("terminationGracePeriodSeconds", Json::Number(30)),
];

fn fill_spec(object: &mut Value, defaults: &[(&str, Json)]) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for &(field, default) in defaults {
        let value = match default {
            Json::Text(text) => json!(text),
            Json::Number(number) => json!(number),
        };
        spec.entry(field).or_insert(value);
    }
}

fn fill_namespace(object: &mut Value) {
    let name = metadata::name(object).to_owned();
    let labels = metadata::fields(metadata::of(object).entry("labels").or_insert(Value::Null));
    labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    let spec = metadata::fields(metadata::fields(object).entry("spec").or_insert(Value::Null));
    spec.entry("finalizers").or_insert_with(|| json!(["kubernetes"]));
}

/// `stringData` is only ever written: its values join the data, encoded.
fn fill_secret(object: &mut Value) {
    let fields = metadata::fields(object);
    fields.entry("type").or_insert_with(|| "Opaque".into());
    let Some(Value::Object(plain)) = fields.remove("stringData") else { return };
    let encoded =
        plain.into_iter().filter_map(|(key, value)| Some((key, STANDARD.encode(value.as_str()?).into())));
    let encoded: Map<_, Value> = encoded.collect();
    metadata::fields(fields.entry("data").or_insert(Value::Null)).extend(encoded);
}
