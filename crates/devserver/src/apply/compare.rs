//! The fields in which two objects differ.

use crate::apply::{
    element::{Element, is_same},
    key::{as_list, items},
    merge::as_map,
    schema::{List, Map, Relation, Shape, Type},
    set::FieldSet,
};
use serde_json::{Map as Object, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The differences between two objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Fields that only the old object contains.
    pub(super) removed: FieldSet,
    /// Fields whose values differ.
    pub(super) modified: FieldSet,
    /// Fields that only the new object contains.
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Removes fields, and the fields below them, from all differences.
    pub(super) fn without(&self, ignored: &FieldSet) -> Self {
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }
}

/// Compares two objects of a type.
pub(super) fn compare(ty: Type<'_>, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { comparison: Comparison::default(), path: Vec::new() };
    walk.value(ty, Some(old), Some(new));
    walk.comparison
}

/// The granularity of a comparison: the value as a unit, or each of its parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    AsOne,
    ByParts,
}

struct Walk {
    comparison: Comparison,
    path: Vec<Element>,
}

impl Walk {
    fn value(&mut self, ty: Type<'_>, old: Option<&Value>, new: Option<&Value>) {
        let atom = ty.atom();
        let (of_old, of_new) = (atom.shapes(old), atom.shapes(new));
        let compared = if new.is_none() {
            self.shape(ty, atom.shape(of_old), old, new)
        } else {
            if old.is_some() && of_old != of_new {
                self.shape(ty, atom.shape(of_old), old, new);
            }
            self.shape(ty, atom.shape(of_new), old, new)
        };
        if compared == Compared::ByParts {
            match (old, new) {
                (None, _) => self.comparison.added.insert(&self.path),
                (_, None) => self.comparison.removed.insert(&self.path),
                (Some(_), Some(_)) => {}
            }
        }
    }

    fn shape(
        &mut self,
        ty: Type<'_>,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Compared {
        match shape {
            Shape::Scalar(_) => self.leaf(old, new),
            Shape::List(list) => {
                let (before, after) = (as_list(old), as_list(new));
                if list.relation == Relation::Atomic || before.is_empty() && after.is_empty() {
                    return self.leaf(old, new);
                }
                self.lists(ty, list, before, after);
                Compared::ByParts
            }
            Shape::Map(map) => {
                let (before, after) = (as_map(old), as_map(new));
                let is_empty =
                    |map: Option<&Object<String, Value>>| map.is_none_or(serde_json::Map::is_empty);
                if map.is_atomic || is_empty(before) && is_empty(after) {
                    return self.leaf(old, new);
                }
                self.maps(ty, map, before, after);
                Compared::ByParts
            }
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> Compared {
        match (old, new) {
            (None, _) => self.comparison.added.insert(&self.path),
            (_, None) => self.comparison.removed.insert(&self.path),
            (Some(old), Some(new)) if !is_same(old, new) => self.comparison.modified.insert(&self.path),
            (Some(_), Some(_)) => {}
        }
        Compared::AsOne
    }

    fn maps(
        &mut self,
        ty: Type<'_>,
        map: &Map,
        old: Option<&Object<String, Value>>,
        new: Option<&Object<String, Value>>,
    ) {
        let names: BTreeSet<_> = old.into_iter().chain(new).flat_map(Object::keys).collect();
        for name in names {
            let Some(id) = map.fields.get(name).map(|field| field.ty).or(map.element) else { continue };
            self.path.push(Element::field(name));
            self.value(ty.at(id), old.and_then(|map| map.get(name)), new.and_then(|map| map.get(name)));
            self.path.pop();
        }
    }

    fn lists(&mut self, ty: Type<'_>, list: &List, old: &[Value], new: &[Value]) {
        let mut by_key: BTreeMap<Element, Sides<'_>> = BTreeMap::new();
        for item in items(ty, list, old) {
            by_key.entry(item.element).or_default().old.push(item.value);
        }
        for item in items(ty, list, new) {
            by_key.entry(item.element).or_default().new.push(item.value);
        }
        let element = ty.at(list.element);
        for (key, sides) in by_key {
            self.path.push(key);
            match (sides.old.as_slice(), sides.new.as_slice()) {
                (old @ ([] | [_]), new @ ([] | [_])) => {
                    self.value(element, old.first().copied(), new.first().copied());
                }
                // Items with the same key are compared together, because they cannot be distinguished.
                (old @ [_, _, ..], new @ [_, _, ..]) => {
                    let same =
                        old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same(old, new));
                    if !same {
                        self.comparison.modified.insert(&self.path);
                    }
                }
                ([_, _, ..], new) => {
                    if let Some(new) = new.first() {
                        self.value(element, None, Some(new));
                    }
                    self.comparison.removed.insert(&self.path);
                }
                (old, [_, _, ..]) => {
                    if let Some(old) = old.first() {
                        self.value(element, Some(old), None);
                    }
                    self.comparison.added.insert(&self.path);
                }
            }
            self.path.pop();
        }
    }
}

/// The items of two lists with the same key.
#[derive(Default)]
struct Sides<'v> {
    old: Vec<&'v Value>,
    new: Vec<&'v Value>,
}
