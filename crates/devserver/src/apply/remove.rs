//! Removes fields from an object.

use crate::apply::{
    element::Element,
    key::item_element,
    schema::{List, Map, Relation, Shape, Type},
    set::FieldSet,
};
use serde_json::{Map as Object, Value};

/// Returns a value without these map entries and list items. A value without remaining parts becomes null.
pub(super) fn remove(ty: Type<'_>, value: &Value, fields: &FieldSet) -> Value {
    let atom = ty.atom();
    match atom.shape(atom.shapes(Some(value))) {
        Shape::Scalar(_) => value.clone(),
        Shape::List(list) => match value {
            Value::Array(values) if list.relation != Relation::Atomic => {
                remove_items(ty, list, values, fields)
            }
            _ => Value::Null,
        },
        Shape::Map(map) => match value {
            Value::Object(values) if !map.is_atomic => remove_entries(ty, map, values, fields),
            _ => Value::Null,
        },
    }
}

fn remove_items(ty: Type<'_>, list: &List, values: &[Value], fields: &FieldSet) -> Value {
    let mut left = Vec::new();
    for value in values {
        let Ok(element) = item_element(ty, list, value) else { continue };
        if fields.members.contains(&element) {
            continue;
        }
        left.push(match fields.below(&element) {
            Some(below) => remove(ty.at(list.element), value, below),
            None => value.clone(),
        });
    }
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}

fn remove_entries(ty: Type<'_>, map: &Map, values: &Object<String, Value>, fields: &FieldSet) -> Value {
    let mut left = Object::new();
    for (name, value) in values {
        let element = Element::field(name);
        if fields.members.contains(&element) {
            continue;
        }
        let id = map.fields.get(name).map(|field| field.ty).or(map.element);
        let value = match (fields.below(&element), id) {
            (Some(below), Some(id)) => remove(ty.at(id), value, below),
            (None, _) | (_, None) => value.clone(),
        };
        left.insert(name.clone(), value);
    }
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}
