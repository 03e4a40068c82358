//! Random changes of objects, at any of their fields.

use crate::apply::oracle::{Kind, random::Random};
use serde_json::{Value, json};

/// Texts that are valid in some field and invalid in others.
pub(super) const WORDS: &[&str] = &[
    "",
    "a",
    "b",
    "A",
    "main",
    "data",
    "web",
    "app",
    "a.b",
    "a..b",
    "a_b",
    "-a",
    "a-",
    "a--b",
    "example.com/a",
    "/",
    "/a",
    "/a/../b",
    "../a",
    "a/b",
    "a b",
    "ä",
    "1",
    "0",
    "-1",
    "100m",
    "1Gi",
    "1x",
    "1.5",
    "50%",
    "150%",
    "x%",
    "10.0.0.1",
    "10.0.0.01",
    "127.0.0.1",
    "fd00::1",
    "10.0.0.0/8",
    "10.0.0.1/8",
    "None",
    "True",
    "TCP",
    "UDP",
    "tcp",
    "Always",
    "Never",
    "OnFailure",
    "IfNotPresent",
    "ClusterIP",
    "LoadBalancer",
    "Exists",
    "In",
    "NotIn",
    "Equal",
    "NoSchedule",
    "RuntimeDefault",
    "RollingUpdate",
    "Recreate",
    "OnDelete",
    "Indexed",
    "Local",
    "Cluster",
    "cpu",
    "memory",
    "storage",
    "kubernetes.io/x",
    "ReadWriteOnce",
    "Block",
    "Pod",
    "v1",
    "apps/v1",
    "a/b/c",
    "*.example.com",
    "@hourly",
    "* * * * *",
    "metadata.name",
    "a-name-that-is-longer-than-any-label-may-be-because-it-has-more-than-63-bytes",
    "http",
    "sixteen-letters-",
    "x=y",
    "%",
    "YQ==",
];
pub(super) const NUMBERS: &[i64] = &[
    -1,
    0,
    1,
    1,
    2,
    3,
    5,
    10,
    30,
    53,
    80,
    100,
    101,
    300,
    512,
    600,
    3600,
    8080,
    30080,
    65535,
    65536,
    86400,
    100_001,
    2_147_483_647,
];

/// Changes an object in one place, or a few.
pub(super) fn mutate(random: &mut Random, kind: &Kind, object: &mut Value) {
    let count = match random.below(20) {
        0..=2 => 0,
        3..=15 => 1,
        16..=18 => 2,
        _ => 3,
    };
    for _ in 0..count {
        if random.one_in(4) {
            random.add_field(kind, object);
        } else {
            change(random, object);
        }
    }
}

fn change(random: &mut Random, object: &mut Value) {
    let mut paths = Vec::new();
    collect(object, "", &mut paths);
    let path = paths[random.below(paths.len())].clone();
    let (parent, name) = path.rsplit_once('/').expect("it has a parent");
    match random.below(10) {
        0..=1 => remove(object, parent, name),
        2 => copy_item(random, object, parent),
        3 => {
            let other = object.pointer(&paths[random.below(paths.len())]).cloned();
            put(object, &path, other.unwrap_or_default());
        }
        4 if random.one_in(3) => {
            let value = random.pick(&["null", "{}", "[]", "true", "1", "\"a\""]);
            put(object, &path, serde_json::from_str(value).expect("it is JSON"));
        }
        _ => {
            let value = object.pointer(&path).cloned().unwrap_or_default();
            let value = other(random, value);
            put(object, &path, value);
        }
    }
}

/// Returns a value of the same type.
fn other(random: &mut Random, value: Value) -> Value {
    match value {
        Value::String(text) if random.one_in(4) => {
            format!("{text}{}", random.pick(&["x", "-", "1", ".", "/"])).into()
        }
        Value::String(_) => random.word().into(),
        Value::Number(_) => random.number().into(),
        Value::Bool(value) => (!value).into(),
        Value::Array(mut items) => {
            match random.below(3) {
                0 => items.clear(),
                1 => items.truncate(1),
                _ => items.reverse(),
            }
            items.into()
        }
        Value::Object(mut fields) => {
            if fields.values().all(Value::is_string) && random.one_in(2) {
                fields.insert(random.word().to_owned(), random.word().into());
            } else {
                let place = random.below(fields.len().max(1));
                if let Some(name) = fields.keys().nth(place).cloned() {
                    fields.remove(&name);
                }
            }
            fields.into()
        }
        Value::Null => json!(random.word()),
    }
}

/// Repeats an item of a list, with a field changed half of the time.
fn copy_item(random: &mut Random, object: &mut Value, parent: &str) {
    if let Some(Value::Array(items)) = object.pointer_mut(parent) {
        let mut item = items[random.below(items.len())].clone();
        if random.one_in(2)
            && let Some(name) = item.get_mut("name")
        {
            *name = random.word().into();
        }
        items.push(item);
    }
}

fn remove(object: &mut Value, parent: &str, name: &str) {
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => drop(fields.remove(&name.replace("~1", "/").replace("~0", "~"))),
        Some(Value::Array(items)) => drop(name.parse::<usize>().map(|place| items.remove(place))),
        _ => {}
    }
}

fn put(object: &mut Value, path: &str, value: Value) {
    if let Some(place) = object.pointer_mut(path) {
        *place = value;
    }
}

/// Collects the paths of all values, except for those that other parts of a server decide on.
fn collect(value: &Value, path: &str, paths: &mut Vec<String>) {
    const OTHERS: [&str; 6] = [
        "/apiVersion",
        "/kind",
        "/status",
        "/metadata/resourceVersion",
        "/metadata/managedFields",
        "/metadata/creationTimestamp",
    ];
    let mut add = |name: &str, value: &Value| {
        let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
        if !OTHERS.contains(&path.as_str()) {
            paths.push(path.clone());
            collect(value, &path, paths);
        }
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| add(name, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| add(&place.to_string(), item))
        }
        _ => {}
    }
}
