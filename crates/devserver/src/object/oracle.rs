//! Compares the defaults of random objects of every built-in kind with the defaulting functions of
//! Kubernetes.

use crate::apply::oracle::{Kind, program::Oracle, random::Random};
use crate::object::{defaults::fill as fill_defaults, normalize};
use crate::registry::{Registry, Resource};
use serde_json::{Value, json};

/// The number of objects of each kind.
const OBJECTS: u64 = 40;

/// The kinds whose Go types in 1.36 differ from those of the tables for protobuf.
const SKIPPED: [&str; 1] = ["csinodes"];

fn compare(oracle: &mut Oracle, resource: &Resource) -> [usize; 2] {
    let kind = Kind::built_in(&resource.api_version(), &resource.kind);
    let mut counts = [0, 0];
    for seed in 0..OBJECTS {
        let mut object = Random::new(seed).object(&kind);
        object["metadata"]["name"] = "a".into();
        prepare(&mut object);
        let answer = oracle.ask(&json!({"operation": "default", "apiVersion": resource.api_version(),
            "kind": resource.kind, "new": object}));
        let Some(expected) = answer.get("default") else {
            counts[1] += 1;
            continue;
        };
        let mut filled = object.clone();
        let normal = normalize(resource, &mut filled);
        assert!(normal.is_ok(), "{}: {normal:?} for {object}", resource.kind);
        fill_defaults(resource, &mut filled);
        assert_eq!(sorted(&filled), sorted(expected), "{} from {object}", resource.kind);
        counts[0] += 1;
    }
    counts
}

/// Removes values that protobuf cannot represent, fields that are newer than 1.36, and fields that are
/// converted before they are defaulted.
fn prepare(object: &mut Value) {
    const REMOVED: [&str; 4] = [
        "nodeAllocatableResourceClaimStatuses",
        "nodeAllocatableResourceMappings",
        "stringData",
        "volumeClaimTemplates",
    ];
    const NOT_EMPTY: [&str; 2] = ["allocatable", "capacity"];
    match object {
        Value::Object(fields) => fields.retain(|name, value| {
            prepare(value);
            let is_empty = match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty() && NOT_EMPTY.contains(&name.as_str()),
                _ => false,
            };
            !is_empty && !REMOVED.contains(&name.as_str())
        }),
        Value::Array(items) => items.iter_mut().for_each(prepare),
        _ => {}
    }
}

/// Removes nulls and empty lists, which are equal in storage, times that depend on the clock, and fields that
/// the server sets in an established definition.
fn sorted(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let is_kept = |name: &str, value: &Value| {
                !value.is_null()
                    && value.as_array().is_none_or(|items| !items.is_empty())
                    && !["timeAdded", "storedVersions"].contains(&name)
            };
            let kept = fields.iter().filter(|(name, value)| is_kept(name, value));
            kept.map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// Sets the defaults of objects of all built-in kinds.
pub fn built_in_kinds_have_the_defaults_of_kubernetes() {
    let mut oracle = Oracle::start();
    let mut failures = Vec::new();
    for resource in Registry::new().resources().filter(|one| !SKIPPED.contains(&one.plural.as_str())) {
        let compared =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(&mut oracle, resource)));
        match compared {
            Ok([compared, refused]) => {
                assert!(compared > refused, "{}: {refused} objects were refused", resource.kind);
            }
            Err(_) => failures.push(resource.kind.clone()),
        }
    }
    assert!(failures.is_empty(), "kinds with other defaults: {failures:?}");
}
