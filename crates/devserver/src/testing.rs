//! Values for tests: resources by name, and JSON of any shape.

use crate::corpus::Widgets;
use crate::registry::{Registry, Resource};
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// Returns a built-in resource, in the preferred version of its group.
pub(crate) fn resource(group: &str, plural: &str) -> Arc<Resource> {
    Registry::new().preferred(group, plural).expect("the resource is built in").clone()
}

/// Returns a custom resource with every subresource.
pub(crate) fn widgets() -> Arc<Resource> {
    let mut registry = Registry::new();
    registry.add_crd(&Widgets::definition()).expect("the definition is sound");
    registry.preferred("example.kube-informer.dev", "widgets").expect("it is served").clone()
}

/// Generates a built-in resource.
pub(crate) fn any_resource() -> impl Strategy<Value = Arc<Resource>> {
    let all: Vec<_> = Registry::new().resources().cloned().collect();
    proptest::sample::select(all)
}

/// Generates JSON of any shape, whose names are often those of fields that the server uses.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        name().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// Generates JSON objects with the usual fields, which have arbitrary values.
pub(crate) fn object() -> impl Strategy<Value = Value> {
    let fields = prop::sample::subsequence(vec!["metadata", "spec", "status", "data", "kind"], 0..=5);
    (fields, prop::collection::vec(value(), 5))
        .prop_map(|(names, values)| names.into_iter().map(str::to_owned).zip(values).collect())
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(NAMES.to_vec()).prop_map(str::to_owned), 1 => "[a-z]{1,3}"]
}

const NAMES: [&str; 44] = [
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "generation",
    "deletionTimestamp",
    "creationTimestamp",
    "spec",
    "status",
    "containers",
    "initContainers",
    "env",
    "ports",
    "containerPort",
    "volumes",
    "volumeMounts",
    "mountPath",
    "conditions",
    "type",
    "phase",
    "replicas",
    "selector",
    "matchLabels",
    "matchExpressions",
    "containerStatuses",
    "initContainerStatuses",
    "state",
    "terminated",
    "waiting",
    "reason",
    "data",
    "$patch",
    "delete",
    "replace",
    "merge",
    "$retainKeys",
    "$setElementOrder/containers",
    "$setElementOrder/finalizers",
    "$deleteFromPrimitiveList/finalizers",
    "restartCount",
];
