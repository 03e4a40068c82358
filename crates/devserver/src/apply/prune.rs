//! Removes the fields of an object that its type does not have.

use crate::apply::schema::{Schema, Shape, Type};
use serde_json::Value;

/// Removes unknown fields of an object of a kind, as kube-apiserver does for custom resources before it stores them.
pub(crate) fn prune(schema: &Schema, api_version: &str, kind: &str, object: &mut Value) {
    if let Some(ty) = schema.kind(api_version, kind) {
        prune_value(ty, object);
    }
}

fn prune_value(ty: Type<'_>, value: &mut Value) {
    let atom = ty.atom();
    match (atom.shape(atom.shapes(Some(value))), value) {
        (Shape::List(list), Value::Array(items)) => {
            items.iter_mut().for_each(|item| prune_value(ty.at(list.element), item));
        }
        (Shape::Map(map), Value::Object(fields)) => fields.retain(|name, value| {
            let id = map.fields.get(name).map(|field| field.ty).or(map.element);
            if let Some(id) = id {
                prune_value(ty.at(id), value);
            }
            id.is_some()
        }),
        // What is of another type is an error of its own.
        (Shape::Scalar(_) | Shape::List(_) | Shape::Map(_), _) => {}
    }
}
