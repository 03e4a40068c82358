//! Random operations: valid ones, and about a third that the servers refuse.

use super::kind::Kind;
use crate::random::Random;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The names of objects of a kind.
const NAMES: [&str; 3] = ["a", "b", "c"];
const MANAGERS: [&str; 3] = ["red", "green", "blue"];
const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A request that is sent to both servers.
pub(super) struct Operation {
    /// The group in which it is counted.
    pub(super) feature: &'static str,
    pub(super) kind: &'static Kind,
    pub(super) name: &'static str,
    pub(super) method: &'static str,
    /// With a leading slash; empty for the object itself.
    pub(super) subresource: &'static str,
    pub(super) query: String,
    pub(super) media: &'static str,
    pub(super) body: Body,
    /// A body that is not JSON, instead of the other one.
    pub(super) raw: Option<&'static str>,
}

/// The body of an operation.
#[derive(Debug)]
pub(super) enum Body {
    /// The same for both servers.
    Exact(Value),
    /// The current object of each server, or a new one, with edits.
    Edited(Vec<Edit>),
}

/// A change of an object.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    path: &'static str,
    /// The new value; `None` removes the field.
    value: Option<Value>,
}

impl Edit {
    fn new(path: &'static str, json: &str) -> Self {
        let value: Value = serde_json::from_str(json).unwrap();
        Self { path, value: Some(value).filter(|value| !value.is_null()) }
    }

    /// Changes the field, and creates the objects around it.
    pub(super) fn apply(&self, object: &mut Value) {
        let (parents, last) = self.path.rsplit_once('/').unwrap();
        let mut place = object;
        for step in parents.split('/').skip(1) {
            let next = match step.parse::<usize>() {
                Ok(index) => place.get_mut(index),
                Err(_) => {
                    if place.is_null() {
                        *place = json!({});
                    }
                    place.as_object_mut().map(|fields| fields.entry(step).or_insert(Value::Null))
                }
            };
            let Some(next) = next else { return };
            place = next;
        }
        if place.is_null() {
            *place = json!({});
        }
        let Some(fields) = place.as_object_mut() else { return };
        match &self.value {
            Some(value) => drop(fields.insert(last.to_owned(), value.clone())),
            None => drop(fields.remove(last)),
        }
    }

    /// Returns a merge patch with the same effect.
    fn merge_patch(&self) -> Value {
        let value = self.value.clone().unwrap_or(Value::Null);
        self.path
            .split('/')
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .fold(value, |value, step| json!({ step: value }))
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { feature, kind, name, method, subresource, query, media, body, raw } = self;
        write!(f, "{feature}: {method} {} {name}{subresource}?{query} {media} ", kind.plural)?;
        match (raw, body) {
            (Some(raw), _) => f.write_str(raw),
            (None, Body::Exact(body)) => write!(f, "{body}"),
            (None, Body::Edited(edits)) => write!(f, "{edits:?}"),
        }
    }
}

fn pick<'t, T>(random: &mut Random, from: &'t [T]) -> &'t T {
    &from[usize::try_from(random.below(from.len() as u64)).unwrap()]
}

/// Returns a random operation for a kind. `objects` are those that exist, by kind and name.
pub(super) fn generate(
    random: &mut Random,
    kind: &'static Kind,
    objects: &BTreeMap<String, Value>,
) -> Operation {
    let name = *pick(random, &NAMES);
    let exists = objects.contains_key(&format!("{} {name}", kind.kind));
    let manager = *pick(random, &MANAGERS);
    let base = Operation {
        feature: "create",
        kind,
        name,
        method: "POST",
        subresource: "",
        query: format!("fieldManager={manager}"),
        media: JSON,
        body: Body::Exact(Value::Null),
        raw: None,
    };
    // Objects are created first, and refused now and then.
    if !exists && random.below(4) > 0 {
        return match random.below(2) {
            0 => Operation { body: created(random, kind, name), ..base },
            _ => apply(random, &base),
        };
    }
    match random.below(20) {
        0..=1 => Operation { body: created(random, kind, name), ..base },
        2..=4 => {
            Operation { feature: "update", method: "PUT", body: Body::Edited(edits(random, kind)), ..base }
        }
        5..=6 => merge(random, base),
        7..=8 => strategic(random, base),
        9..=10 => json_patch(random, base),
        11..=15 => apply(random, &base),
        16 => delete(random, &base),
        17 => malformed(random, base),
        _ => invalid_update(random, base),
    }
}

fn created(random: &mut Random, kind: &Kind, name: &str) -> Body {
    let mut object = kind.object(name);
    if random.below(4) == 0 && !kind.refused.is_empty() {
        let (path, value) = *pick(random, kind.refused);
        Edit::new(path, value).apply(&mut object);
    }
    if random.below(12) == 0 {
        object["metadata"]["name"] = (*pick(random, &["UPPER", "a_b", "-a", ""])).into();
    }
    for edit in edits(random, kind) {
        edit.apply(&mut object);
    }
    Body::Exact(object)
}

/// Returns one to three changes of fields.
fn edits(random: &mut Random, kind: &Kind) -> Vec<Edit> {
    let count = 1 + random.below(3);
    let mut edits = Vec::new();
    for _ in 0..count {
        let field = pick(random, kind.fields);
        edits.push(Edit::new(field.path, pick::<&str>(random, field.values)));
    }
    edits
}

/// Returns one change that is valid, or in a third of the cases one that is refused.
fn change(random: &mut Random, kind: &Kind) -> Edit {
    if random.below(3) == 0 {
        let (path, value) = *pick(random, kind.refused);
        return Edit::new(path, value);
    }
    let field = pick(random, kind.fields);
    Edit::new(field.path, pick::<&str>(random, field.values))
}

/// A change in a list replaces the list in a merge patch, so that it is not valid there.
fn in_object(random: &mut Random, kind: &Kind) -> Edit {
    loop {
        let edit = change(random, kind);
        if !edit.path.contains("/0/") {
            return edit;
        }
    }
}

fn merge(random: &mut Random, base: Operation) -> Operation {
    let patch = in_object(random, base.kind).merge_patch();
    Operation { feature: "merge patch", method: "PATCH", media: MERGE, body: Body::Exact(patch), ..base }
}

fn strategic(random: &mut Random, base: Operation) -> Operation {
    let mut patch = in_object(random, base.kind).merge_patch();
    if base.kind.kind == "Deployment" && random.below(2) == 0 {
        let image = format!("app:{}", random.below(3));
        let container = json!({ "name": *pick(random, &["app", "side"]), "image": image });
        patch = json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
    }
    Operation {
        feature: "strategic merge patch",
        method: "PATCH",
        media: STRATEGIC,
        body: Body::Exact(patch),
        ..base
    }
}

fn json_patch(random: &mut Random, base: Operation) -> Operation {
    let Edit { path, value } = change(random, base.kind);
    let operation = match (random.below(5), &value) {
        (0, _) => json!({ "op": "test", "path": path, "value": value }),
        (1, _) | (_, None) => json!({ "op": "remove", "path": path }),
        (2, Some(_)) => json!({ "op": "replace", "path": path, "value": value }),
        (_, Some(_)) => json!({ "op": "add", "path": path, "value": value }),
    };
    Operation {
        feature: "JSON patch",
        method: "PATCH",
        media: JSON_PATCH,
        body: Body::Exact(json!([operation])),
        ..base
    }
}

fn apply(random: &mut Random, base: &Operation) -> Operation {
    let mut object = base.kind.object(base.name);
    for edit in edits(random, base.kind) {
        edit.apply(&mut object);
    }
    if random.below(4) == 0 {
        let (path, value) = *pick(random, base.kind.refused);
        Edit::new(path, value).apply(&mut object);
    }
    let (feature, query) = match random.below(8) {
        0..=2 => ("apply with force", format!("{}&force=true", base.query)),
        3 => ("apply without a manager", String::new()),
        _ => ("apply", base.query.clone()),
    };
    Operation { feature, method: "PATCH", media: APPLY, query, body: Body::Exact(object), ..*base }
}

fn delete(random: &mut Random, base: &Operation) -> Operation {
    let preconditions = match random.below(4) {
        0 => json!({ "preconditions": { "uid": "00000000-0000-0000-0000-000000000001" } }),
        1 => json!({ "preconditions": { "resourceVersion": "1" } }),
        _ => Value::Null,
    };
    Operation {
        feature: "delete",
        method: "DELETE",
        query: String::new(),
        body: Body::Exact(preconditions),
        ..*base
    }
}

/// A body that cannot be read, or of a type that is not known.
fn malformed(random: &mut Random, base: Operation) -> Operation {
    let media = *pick(random, &[JSON_PATCH, MERGE, STRATEGIC, APPLY, "text/plain"]);
    let raw = *pick(random, &["{", "[{\"op\": \"move\"}]", "[]", "7", "\"text\"", "{\"metadata\": 7}"]);
    Operation { feature: "malformed patch", method: "PATCH", media, raw: Some(raw), ..base }
}

fn invalid_update(random: &mut Random, base: Operation) -> Operation {
    let mut edits = edits(random, base.kind);
    let (path, value) = *pick(random, base.kind.refused);
    edits.push(match random.below(6) {
        0 => Edit::new("/metadata/name", "\"other\""),
        1 => Edit::new("/kind", "\"Other\""),
        2 => Edit::new("/metadata/namespace", "\"other\""),
        _ => Edit::new(path, value),
    });
    Operation { feature: "invalid update", method: "PUT", body: Body::Edited(edits), ..base }
}
