//! Merges lists item by item, in the order that a patch requests.

use crate::object::patch::directive::{Directive, take_directive, without_directives};
use crate::object::patch::error::PatchError;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Merges the items of a list that have the same value of a key field; `merge` merges two items.
///
/// # Errors
/// Returns an error if an item is not an object or lacks the field, or if `merge` fails.
pub(super) fn merge_by_key(
    original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    mut merge: impl FnMut(Map<String, Value>, Map<String, Value>) -> Result<Value, PatchError>,
) -> Result<Vec<Value>, PatchError> {
    let PatchItems { kept: patch, deleted, others } = parse_items(patch, key)?;
    if others == Others::Delete {
        return Ok(patch.into_iter().filter_map(|item| without_directives(Value::Object(item))).collect());
    }
    let before = identities(&original, key)?;
    let mut merged = Vec::with_capacity(original.len());
    let mut places = HashMap::new();
    for (item, identity) in original.into_iter().zip(&before) {
        if !deleted.contains(identity) {
            places.entry(identity.clone()).or_insert(merged.len());
            merged.push(item);
        }
    }
    let mut wanted = Vec::with_capacity(patch.len());
    for item in patch {
        let identity = identity(&item, key)?;
        match places.get(&identity) {
            Some(&place) => match merged[place].take() {
                Value::Object(found) => merged[place] = merge(found, item)?,
                _ => return Err(mixed()),
            },
            None => {
                places.insert(identity.clone(), merged.len());
                merged.extend(without_directives(Value::Object(item)));
            }
        }
        wanted.push(identity);
    }
    arrange(merged, &Order { wanted, before }, Some(key))
}

/// Merges two lists of scalar values without duplicates.
///
/// # Errors
/// Returns an error if an item is a list or an object.
pub(super) fn merge_set(original: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, PatchError> {
    let order = Order { wanted: plain_identities(&patch)?, before: plain_identities(&original)? };
    let mut seen = HashSet::new();
    let merged = original.into_iter().chain(patch).filter(|item| seen.insert(item.to_string())).collect();
    arrange(merged, &order, None)
}

/// Sorts a merged list by the order that a patch lists; other items keep their positions relative to the
/// existing items.
///
/// # Errors
/// Returns an error if an item of either list lacks its key.
pub(super) fn reorder(
    merged: Vec<Value>,
    wanted: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let of = |items: &[Value]| key.map_or_else(|| plain_identities(items), |key| identities(items, key));
    arrange(merged, &Order { wanted: of(wanted)?, before: of(before)? }, key)
}

/// The keys of the items in the patch, and of the items before the patch.
struct Order {
    wanted: Vec<String>,
    before: Vec<String>,
}

/// The treatment of the items that a patch does not contain.
#[derive(PartialEq, Eq)]
enum Others {
    Keep,
    Delete,
}

/// The items of a patch, the keys of the items to delete, and the treatment of all other items.
struct PatchItems {
    kept: Vec<Map<String, Value>>,
    deleted: HashSet<String>,
    others: Others,
}

fn parse_items(patch: Vec<Value>, key: &str) -> Result<PatchItems, PatchError> {
    let mut items = PatchItems { kept: Vec::new(), deleted: HashSet::new(), others: Others::Keep };
    for item in patch {
        let Value::Object(mut item) = item else { return Err(mixed()) };
        match take_directive(&mut item)? {
            Directive::Merge => items.kept.push(item),
            Directive::Replace => items.others = Others::Delete,
            Directive::Delete => drop(items.deleted.insert(identity(&item, key)?)),
        }
    }
    Ok(items)
}

/// Sorts the items of a patch in its order, and other items by their original positions. A new item precedes
/// its successors in the patch.
fn arrange(merged: Vec<Value>, order: &Order, key: Option<&str>) -> Result<Vec<Value>, PatchError> {
    let (wanted, before) = (places(&order.wanted), places(&order.before));
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let identity = match (key, &item) {
            (Some(key), Value::Object(fields)) => identity(fields, key)?,
            _ => item.to_string(),
        };
        match wanted.get(identity.as_str()) {
            Some(at) => named.push((*at, before.get(identity.as_str()), item)),
            None => others.push((before.get(identity.as_str()), item)),
        }
    }
    named.sort_by_key(|(at, ..)| *at);
    others.sort_by_key(|(at, _)| at.copied());
    let mut others = others.into_iter().peekable();
    let mut arranged = Vec::new();
    for (_, stood, item) in named {
        // A new item has no original position, so that no other item is inserted before it.
        while let Some((_, other)) = others.next_if(|(at, _)| stood.is_some() && at.is_some() && *at < stood)
        {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others.map(|(_, other)| other));
    Ok(arranged)
}

fn places(identities: &[String]) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for (place, identity) in identities.iter().enumerate() {
        places.entry(identity.as_str()).or_insert(place);
    }
    places
}

fn identities(items: &[Value], key: &str) -> Result<Vec<String>, PatchError> {
    let of = |item: &Value| item.as_object().ok_or_else(mixed).and_then(|item| identity(item, key));
    items.iter().map(of).collect()
}

fn identity(item: &Map<String, Value>, key: &str) -> Result<String, PatchError> {
    let missing = || {
        let item = Value::Object(item.clone());
        PatchError::Unprocessable(format!("map: {item} does not contain declared merge key: {key}"))
    };
    item.get(key).map(Value::to_string).ok_or_else(missing)
}

fn plain_identities(items: &[Value]) -> Result<Vec<String>, PatchError> {
    let of = |item: &Value| match item {
        Value::Array(_) => Err(PatchError::Unprocessable("lists of lists are not supported".to_owned())),
        Value::Object(_) => Err(mixed()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(item.to_string()),
    };
    items.iter().map(of).collect()
}

fn mixed() -> PatchError {
    PatchError::Unprocessable("list element types are not identical".to_owned())
}
