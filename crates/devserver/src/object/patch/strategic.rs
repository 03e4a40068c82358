//! Strategic merge patch: a merge patch that merges lists item by item if the kind specifies that.

use crate::object::patch::directive::{self, Directive};
use crate::object::patch::error::PatchError;
use crate::object::patch::list;
use crate::object::patch::strategy::{FieldPath, Strategy};
use crate::registry::Resource;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Applies a patch to an object of a built-in kind.
///
/// # Errors
/// Returns an error if the resource is a custom resource, the patch is not an object, or it does not match
/// the object.
pub(crate) fn strategic(resource: &Resource, object: &Value, patch: &Value) -> Result<Value, PatchError> {
    if resource.is_custom() {
        return Err(PatchError::Unsupported);
    }
    let (Value::Object(object), Value::Object(patch)) = (object, patch) else {
        return Err(PatchError::Malformed("a strategic merge patch must be a JSON object".to_owned()));
    };
    merge_map(object.clone(), patch.clone(), &FieldPath::root(resource)).map(Value::Object)
}

fn merge_map(
    mut object: Map<String, Value>,
    mut patch: Map<String, Value>,
    path: &FieldPath<'_>,
) -> Result<Map<String, Value>, PatchError> {
    match directive::take_directive(&mut patch)? {
        Directive::Merge => {}
        Directive::Delete => return Ok(Map::new()),
        Directive::Replace => {
            let kept = directive::without_directives(Value::Object(patch));
            return Ok(kept.and_then(|kept| kept.as_object().cloned()).unwrap_or_default());
        }
    }
    directive::retain_keys(&mut object, &mut patch)?;
    for (name, deleted) in directive::take_deletions(&mut patch)? {
        if let Some(Value::Array(items)) = object.get_mut(&name) {
            let deleted: HashSet<_> = deleted.iter().map(Value::to_string).collect();
            items.retain(|item| !deleted.contains(&item.to_string()));
        }
    }
    let orders = directive::take_orders(&mut patch)?;
    let before: Vec<_> = orders.iter().map(|(name, _)| object.get(name).cloned()).collect();
    for (name, change) in patch {
        let merged = merge_field(object.remove(&name), change, &path.field(&name))?;
        object.extend(merged.map(|merged| (name, merged)));
    }
    for ((name, wanted), before) in orders.into_iter().zip(before) {
        let key = match path.field(&name).list_strategy() {
            Strategy::ByKey(key) => Some(key),
            Strategy::Replace | Strategy::Merge | Strategy::Set => None,
        };
        if let Some(Value::Array(merged)) = object.get_mut(&name) {
            let before = before.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            *merged = list::reorder(std::mem::take(merged), &wanted, before, key)?;
        }
    }
    Ok(object)
}

/// Returns a field after its change; `None` if it is deleted.
fn merge_field(
    found: Option<Value>,
    change: Value,
    path: &FieldPath<'_>,
) -> Result<Option<Value>, PatchError> {
    match (found, change) {
        (_, Value::Null) => Ok(None),
        (Some(Value::Object(found)), Value::Object(change)) => match path.map_strategy() {
            Strategy::Replace => Ok(directive::without_directives(Value::Object(change))),
            Strategy::Merge | Strategy::ByKey(_) | Strategy::Set => {
                merge_map(found, change, path).map(|merged| Some(Value::Object(merged)))
            }
        },
        (Some(Value::Array(found)), Value::Array(change)) => {
            merge_list(found, change, path).map(|merged| Some(Value::Array(merged)))
        }
        (_, change) => Ok(directive::without_directives(change)),
    }
}

fn merge_list(found: Vec<Value>, change: Vec<Value>, path: &FieldPath<'_>) -> Result<Vec<Value>, PatchError> {
    match path.list_strategy() {
        Strategy::ByKey(key) => list::merge_by_key(found, change, key, |found, change| {
            merge_map(found, change, path).map(Value::Object)
        }),
        Strategy::Set => list::merge_set(found, change),
        Strategy::Replace | Strategy::Merge => {
            Ok(change.into_iter().filter_map(directive::without_directives).collect())
        }
    }
}
