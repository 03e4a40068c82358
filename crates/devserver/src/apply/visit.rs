//! Visits the parts of an object that have a named type.

use crate::apply::schema::{Shape, Type};
use serde_json::Value;

/// Calls a function with every part of an object that is of a named type, and the name; a part before the parts in it.
pub(crate) fn visit(ty: Type<'_>, value: &mut Value, visitor: &mut dyn FnMut(&str, &mut Value)) {
    if let Some(name) = ty.name() {
        visitor(name, value);
    }
    let atom = ty.atom();
    match (atom.shape(atom.shapes(Some(value))), value) {
        (Shape::List(list), Value::Array(items)) => {
            items.iter_mut().for_each(|item| visit(ty.at(list.element), item, visitor));
        }
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                if let Some(id) = map.fields.get(name).map(|field| field.ty).or(map.element) {
                    visit(ty.at(id), value, visitor);
                }
            }
        }
        (Shape::Scalar(_) | Shape::List(_) | Shape::Map(_), _) => {}
    }
}
