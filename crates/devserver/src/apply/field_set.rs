//! The set of fields that a value contains.

use crate::apply::{
    element::Element,
    key::{as_list, items},
    schema::{List, Map, Relation, Shape, Type},
    set::FieldSet,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns the paths to every scalar, every atomic list and map, every list item and every entry of a map.
pub(super) fn field_set(ty: Type<'_>, value: &Value) -> FieldSet {
    let mut walk = Walk { set: FieldSet::default(), path: Vec::new() };
    walk.value(ty, value);
    walk.set
}

struct Walk {
    set: FieldSet,
    path: Vec<Element>,
}

impl Walk {
    fn value(&mut self, ty: Type<'_>, value: &Value) {
        let atom = ty.atom();
        match atom.shape(atom.shapes(Some(value))) {
            Shape::Scalar(_) => self.insert(),
            Shape::List(list) if list.relation == Relation::Atomic => self.insert(),
            Shape::List(list) => self.list(ty, list, as_list(Some(value))),
            Shape::Map(map) if map.is_atomic => self.insert(),
            Shape::Map(map) => self.map(ty, map, value),
        }
    }

    fn list(&mut self, ty: Type<'_>, list: &List, values: &[Value]) {
        let items = items(ty, list, values);
        let mut seen = BTreeSet::new();
        let repeated: BTreeSet<_> =
            items.iter().map(|item| &item.element).filter(|element| !seen.insert(*element)).collect();
        for item in &items {
            self.path.push(item.element.clone());
            // Items with the same key are owned together.
            if !repeated.contains(&item.element) {
                self.value(ty.at(list.element), item.value);
            }
            self.insert();
            self.path.pop();
        }
    }

    fn map(&mut self, ty: Type<'_>, map: &Map, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            let field = map.fields.get(name);
            let Some(id) = field.map(|field| field.ty).or(map.element) else { continue };
            self.path.push(Element::field(name));
            self.value(ty.at(id), value);
            let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
            if is_empty || field.is_none() {
                self.insert();
            }
            self.path.pop();
        }
    }

    fn insert(&mut self) {
        self.set.insert(&self.path);
    }
}
