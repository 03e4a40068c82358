//! Merges an applied configuration into an object.

use crate::apply::{
    element::Element,
    key::{Item, as_list, items},
    schema::{List, Map, Relation, Shape, Type},
};
use serde_json::{Map as Object, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns the object with all fields of the configuration. No field is removed. List items have the order of
/// the configuration, as far as it contains them.
///
/// Both values must be valid for the type.
pub(super) fn merge(ty: Type<'_>, live: &Value, config: &Value) -> Value {
    merge_parts(ty, Some(live), Some(config)).unwrap_or(Value::Null)
}

fn merge_parts(ty: Type<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let atom = ty.atom();
    // An absent value has the shape of the other one. If both are present, the configuration decides.
    let shapes = if config.is_none() { atom.shapes(live) } else { atom.shapes(config) };
    match atom.shape(shapes) {
        Shape::Scalar(_) => leaf(live, config),
        Shape::List(list) => {
            let (old, new) = (as_list(live), as_list(config));
            let is_leaf = list.relation == Relation::Atomic || old.is_empty() && new.is_empty();
            if is_leaf { leaf(live, config) } else { merge_lists(ty, list, old, new) }
        }
        Shape::Map(map) => {
            let (old, new) = (as_map(live), as_map(config));
            let is_empty = |map: Option<&Object<String, Value>>| map.is_none_or(serde_json::Map::is_empty);
            let is_leaf = map.is_atomic || is_empty(old) && is_empty(new);
            if is_leaf { leaf(live, config) } else { merge_maps(ty, map, old, new) }
        }
    }
}

fn leaf(live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    config.or(live).cloned()
}

fn merge_maps(
    ty: Type<'_>,
    map: &Map,
    live: Option<&Object<String, Value>>,
    config: Option<&Object<String, Value>>,
) -> Option<Value> {
    let names: BTreeSet<_> = live.into_iter().chain(config).flat_map(Object::keys).collect();
    let mut merged = Object::new();
    for name in names {
        let part = |map: Option<&'_ Object<String, Value>>| map.and_then(|map| map.get(name)).cloned();
        let (live, config) = (part(live), part(config));
        let value = match map.fields.get(name).map(|field| field.ty).or(map.element) {
            Some(id) => merge_parts(ty.at(id), live.as_ref(), config.as_ref()),
            None => config.or(live),
        };
        if let Some(value) = value {
            merged.insert(name.clone(), value);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn merge_lists(ty: Type<'_>, list: &List, live: &[Value], config: &[Value]) -> Option<Value> {
    let (live, config) = (items(ty, list, live), items(ty, list, config));
    let merged = Lists::new(ty.at(list.element), &live, &config).merge();
    (!merged.is_empty()).then_some(Value::Array(merged))
}

/// Two lists whose items have keys.
struct Lists<'l, 'v> {
    element: Type<'l>,
    live: &'l [Item<'v>],
    config: &'l [Item<'v>],
    /// The items by key; null if several items have the same key.
    live_by_key: BTreeMap<&'l Element, &'v Value>,
    config_by_key: BTreeMap<&'l Element, &'v Value>,
    /// The items of both lists that are not merged yet, in the order of the configuration.
    shared: VecDeque<&'l Element>,
    merged: BTreeSet<&'l Element>,
    out: Vec<Value>,
}

impl<'l, 'v> Lists<'l, 'v> {
    fn new(element: Type<'l>, live: &'l [Item<'v>], config: &'l [Item<'v>]) -> Self {
        let (live_by_key, config_by_key) = (by_key(live), by_key(config));
        let shared =
            config.iter().map(|item| &item.element).filter(|key| live_by_key.contains_key(*key)).collect();
        let (merged, out) = (BTreeSet::new(), Vec::with_capacity(live.len().max(config.len())));
        Self { element, live, config, live_by_key, config_by_key, shared, merged, out }
    }

    fn merge(mut self) -> Vec<Value> {
        let (mut at_live, mut at_config) = (0, 0);
        while at_live < self.live.len() || at_config < self.config.len() {
            let (old, new) = (self.live.get(at_live), self.config.get(at_config));
            if let (Some(old), Some(new)) = (old, new) {
                if old.element == new.element {
                    self.take_both(&new.element);
                    self.shared.pop_front();
                    at_live += 1;
                    at_config += 1;
                    continue;
                }
                // Both lists contain the item, but another shared item precedes it in the configuration.
                let is_out_of_turn = self.shared.front().is_some_and(|next| **next != old.element);
                if self.config_by_key.contains_key(&old.element) && is_out_of_turn {
                    at_live += 1;
                    continue;
                }
            }
            if let Some(old) = old {
                if !self.config_by_key.contains_key(&old.element) {
                    self.out.extend(merge_parts(self.element, Some(old.value), None));
                    at_live += 1;
                    continue;
                }
                if self.merged.contains(&old.element) {
                    at_live += 1;
                }
            }
            if let Some(new) = new {
                self.take_both(&new.element);
                if self.shared.front().is_some_and(|next| **next == new.element) {
                    self.shared.pop_front();
                }
                at_config += 1;
            }
        }
        self.out
    }

    /// Adds the item of the configuration, merged with the item of the object if that exists.
    fn take_both(&mut self, key: &'l Element) {
        self.merged.insert(key);
        let (live, config) = (self.live_by_key.get(key), self.config_by_key.get(key));
        self.out.extend(merge_parts(self.element, live.copied(), config.copied()));
    }
}

fn by_key<'l, 'v>(items: &'l [Item<'v>]) -> BTreeMap<&'l Element, &'v Value> {
    let mut by_key = BTreeMap::new();
    for item in items {
        by_key.entry(&item.element).and_modify(|value| *value = &Value::Null).or_insert(item.value);
    }
    by_key
}

pub(super) fn as_map(value: Option<&Value>) -> Option<&Object<String, Value>> {
    value.and_then(Value::as_object)
}
