//! Random objects of a type, and random changes of them.

use super::{Change, Kind};
use crate::apply::schema::{Relation, Scalar, Shape, Type};
use crate::apply::tracker::Force;
use serde_json::{Map, Value, json};

/// A small generator of numbers, the same for the same seed.
pub(crate) struct Random {
    state: u64,
    words: &'static [&'static str],
    numbers: &'static [i64],
}

/// Words in base64.
const WORDS: &[&str] = &["aaaa", "bbbb", "cccc", "dddd"];

/// The maximum depth of random values.
const DEEPEST: usize = 7;

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
        Self { state, words: WORDS, numbers: &[0, 1, 2, 3] }
    }

    /// Returns a generator of these texts and numbers.
    pub(crate) fn of(seed: u64, words: &'static [&'static str], numbers: &'static [i64]) -> Self {
        Self { words, numbers, ..Self::new(seed) }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((bits ^ (bits >> 31)) % limit as u64).expect("it is less than the limit")
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// A change of an object; null if the object does not exist yet.
    pub(super) fn change(&mut self, kind: &Kind, live: &Value) -> Change {
        let operation = self.pick(&["update", "apply", "apply", "apply"]);
        let manager = self.pick(&["one", "two", "three"]);
        let subresource = if !live.is_null() && self.one_in(5) { "status" } else { "" };
        let force = if self.one_in(3) { Force::Yes } else { Force::No };
        let mut new = self.object(kind);
        if operation == "update" && !live.is_null() {
            let mut base = live.clone();
            base["metadata"].as_object_mut().expect("objects have metadata").remove("managedFields");
            new = self.mix(&base, &new);
            new["metadata"]["uid"] = "u".into();
            if self.one_in(4) {
                new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
            }
            if self.one_in(20) {
                new["metadata"]["managedFields"] = json!([]);
            }
        } else if !live.is_null() && self.one_in(2) {
            // Applies a part of the existing object, so that several managers own the same fields.
            let mut base = live.clone();
            base["metadata"]
                .as_object_mut()
                .expect("objects have metadata")
                .retain(|name, _| name == "labels");
            new = self.mix(&base, &new);
        }
        new["apiVersion"] = kind.api_version.clone().into();
        new["kind"] = kind.kind.clone().into();
        new["metadata"]["name"] = "a".into();
        Change { operation, manager, subresource, force, new }
    }

    pub(crate) fn object(&mut self, kind: &Kind) -> Value {
        let ty = kind.schema().kind(&kind.api_version, &kind.kind).expect("it has the kind");
        let mut object = Map::new();
        let fields: Vec<_> = ty.atom().map.iter().flat_map(|map| map.fields.iter()).collect();
        for (name, field) in fields {
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) && !self.one_in(4) {
                object.insert(name.clone(), self.value(ty.at(field.ty), 0));
            }
        }
        let mut metadata = json!({"namespace": "default"});
        for (name, value) in [
            ("labels", json!({self.pick(&["a", "b"]): self.word()})),
            ("annotations", json!({self.pick(&["a", "b", "c"]): self.word()})),
            ("finalizers", json!([self.pick(&["x/a", "x/b", "x/c"])])),
            (
                "ownerReferences",
                json!([{"uid": self.word(), "name": self.word(), "kind": "K", "apiVersion": "v1"}]),
            ),
        ] {
            if self.one_in(3) {
                metadata[name] = value;
            }
        }
        object.insert("metadata".to_owned(), metadata);
        Value::Object(object)
    }

    fn value(&mut self, ty: Type<'_>, depth: usize) -> Value {
        if self.one_in(40) {
            return Value::Null;
        }
        let name = ty.name().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
        match name {
            "Quantity" => {
                return self.pick(&["1", "1000m", "0.5", "1024Mi", "2G", "1.5Gi", "1e3", "0"]).into();
            }
            "Time" => return "2026-01-01T00:00:00Z".into(),
            "MicroTime" => return "2026-01-01T00:00:00.000001Z".into(),
            _ => {}
        }
        let atom = ty.atom();
        let mut shapes = atom.shapes(None);
        if shapes.scalar && (shapes.map || shapes.list) && !self.one_in(3) {
            (shapes.map, shapes.list) = (false, false);
        }
        match atom.shape(shapes) {
            Shape::Scalar(Scalar::Boolean) => self.one_in(2).into(),
            Shape::Scalar(Scalar::Numeric) => self.number().into(),
            Shape::Scalar(Scalar::String | Scalar::Untyped) => self.word().into(),
            _ if depth > DEEPEST => Value::Null,
            Shape::List(list) => {
                let count = self.below(4);
                let mut items: Vec<Value> = Vec::new();
                for _ in 0..count {
                    let mut item = self.value(ty.at(list.element), depth + 1);
                    if let Relation::Keyed(keys) = &list.relation {
                        self.fill_key(&mut item, ty.at(list.element), keys);
                    }
                    let is_repeated = list.relation == Relation::Set && items.contains(&item);
                    if !item.is_null() && (!is_repeated || self.one_in(30)) {
                        items.push(item);
                    }
                }
                if let Relation::Keyed(keys) = &list.relation {
                    self.drop_repeated(&mut items, keys);
                }
                Value::Array(items)
            }
            Shape::Map(map) => {
                let mut object = Map::new();
                let sparse = map.fields.len().div_ceil(5).max(2);
                for (name, field) in &map.fields {
                    if self.one_in(sparse) {
                        object.insert(name.clone(), self.value(ty.at(field.ty), depth + 1));
                    }
                }
                if let Some(element) = map.element {
                    for _ in 0..self.below(3) {
                        let name = self.pick(&["a", "b", "c"]);
                        object.insert(name.to_owned(), self.value(ty.at(element), depth + 1));
                    }
                }
                Value::Object(object)
            }
        }
    }

    /// Sets the key fields of an item; key fields with defaults may be absent.
    fn fill_key(&mut self, item: &mut Value, ty: Type<'_>, keys: &[String]) {
        if !item.is_object() {
            *item = json!({});
        }
        for (place, key) in keys.iter().enumerate() {
            let Some(field) = ty.atom().map.as_ref().and_then(|map| map.fields.get(key)) else { continue };
            if place == 0 || !self.one_in(3) {
                let value = match self.value(ty.at(field.ty), 0) {
                    Value::Null => field.default.clone().unwrap_or_else(|| "a".into()),
                    value => value,
                };
                item[key] = value;
            } else if let Some(item) = item.as_object_mut() {
                item.remove(key);
            }
        }
    }

    /// Removes most items that have the key of an item before them.
    fn drop_repeated(&mut self, items: &mut Vec<Value>, keys: &[String]) {
        let mut seen = Vec::new();
        items.retain(|item| {
            let key: Vec<_> = keys.iter().map(|key| item[key].to_string()).collect();
            let is_new = !seen.contains(&key) || self.one_in(10);
            seen.push(key);
            is_new
        });
    }

    /// A value with parts of two others.
    fn mix(&mut self, a: &Value, b: &Value) -> Value {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => {
                let mut mixed = Map::new();
                for name in a.keys().chain(b.keys().filter(|name| !a.contains_key(*name))) {
                    let value = match (a.get(name), b.get(name)) {
                        (Some(a), Some(b)) => Some(self.mix(a, b)),
                        (Some(one), None) if !self.one_in(8) => Some(one.clone()),
                        (None, Some(one)) if self.one_in(4) => Some(one.clone()),
                        _ => None,
                    };
                    mixed.extend(value.map(|value| (name.clone(), value)));
                }
                Value::Object(mixed)
            }
            (a, b) => if self.one_in(4) { b } else { a }.clone(),
        }
    }

    pub(crate) fn word(&mut self) -> &'static str {
        self.pick(self.words)
    }

    pub(crate) fn number(&mut self) -> i64 {
        self.pick(self.numbers)
    }

    /// Adds a random field of the schema to a random part of an object.
    pub(crate) fn add_field(&mut self, kind: &Kind, object: &mut Value) {
        let ty = kind.schema().kind(&kind.api_version, &kind.kind).expect("it has the kind");
        let mut parts = Vec::new();
        collect_parts(ty, object, String::new(), &mut parts);
        let (path, ty) = &parts[self.below(parts.len())];
        let map = ty.atom().map.as_ref().expect("it was collected as one with fields");
        let names: Vec<_> = map.fields.keys().collect();
        let name = names[self.below(names.len())];
        let value = self.value(ty.at(map.fields[name].ty), DEEPEST - 2);
        if let Some(Value::Object(fields)) = object.pointer_mut(path) {
            fields.entry(name).or_insert(value);
        }
    }
}

/// Collects the structs in an object, with their paths and types.
fn collect_parts<'s>(ty: Type<'s>, value: &Value, path: String, parts: &mut Vec<(String, Type<'s>)>) {
    let atom = ty.atom();
    match (atom.shape(atom.shapes(Some(value))), value) {
        (Shape::List(list), Value::Array(items)) => {
            for (place, item) in items.iter().enumerate() {
                collect_parts(ty.at(list.element), item, format!("{path}/{place}"), parts);
            }
        }
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                let element = map.fields.get(name).map(|field| field.ty).or(map.element);
                // The metadata of the object are those of all kinds.
                if let Some(id) =
                    element.filter(|_| name != "status" && !(path.is_empty() && name == "metadata"))
                {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    collect_parts(ty.at(id), value, format!("{path}/{name}"), parts);
                }
            }
            if !map.fields.is_empty() {
                parts.push((path, ty));
            }
        }
        (Shape::Scalar(_) | Shape::List(_) | Shape::Map(_), _) => {}
    }
}
