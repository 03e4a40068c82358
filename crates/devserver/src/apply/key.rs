//! Identifies list items by their value, or by the values of their key fields.

use crate::apply::{
    element::{Element, KeyField},
    schema::{List, Relation, Type},
};
use serde_json::Value;

/// Reports a list item without a valid key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("associative list with keys may not have an element that is not a map")]
    NotAMap,
    #[error(
        "associative list with keys has an element that omits all key fields {0:?} (and doesn't have default values for any key fields)"
    )]
    NoKey(Vec<String>),
    #[error("associative list without keys has an element that is a map, a list or null")]
    NotAScalar,
    #[error("invalid indexing of non-associative list")]
    Atomic,
}

/// Returns the path element of a list item.
///
/// # Errors
/// Returns an error if the item has no key that identifies it.
pub(super) fn item_element(ty: Type<'_>, list: &List, item: &Value) -> Result<Element, KeyError> {
    match &list.relation {
        Relation::Atomic => Err(KeyError::Atomic),
        Relation::Set => match item {
            Value::Object(_) | Value::Array(_) | Value::Null => Err(KeyError::NotAScalar),
            Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(Element::Value(item.clone())),
        },
        Relation::Keyed(keys) => {
            let Value::Object(fields) = item else { return Err(KeyError::NotAMap) };
            let map = ty.at(list.element).atom().map.as_ref();
            let default = |name: &str| map?.fields.get(name)?.default.as_ref();
            let value = |name: &String| {
                let value = fields.get(name).or_else(|| default(name))?.clone();
                Some(KeyField { name: name.clone(), value })
            };
            let mut key: Vec<_> = keys.iter().filter_map(value).collect();
            if key.is_empty() {
                return Err(KeyError::NoKey(keys.clone()));
            }
            key.sort();
            Ok(Element::Key(key))
        }
    }
}

/// Returns the items of a list with their path elements. Items without a key are skipped; validated lists
/// have none.
pub(super) fn items<'v>(ty: Type<'_>, list: &List, values: &'v [Value]) -> Vec<Item<'v>> {
    let item = |value: &'v Value| Some(Item { element: item_element(ty, list, value).ok()?, value });
    values.iter().filter_map(item).collect()
}

/// An item of a list.
#[derive(Clone, Debug)]
pub(super) struct Item<'v> {
    pub(super) element: Element,
    pub(super) value: &'v Value,
}

/// Returns the items of a value that is a list; null and other values have none.
pub(super) fn as_list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
