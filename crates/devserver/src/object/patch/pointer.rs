//! JSON pointers (RFC 6901), which locate a value in a document.

use crate::object::patch::error::PatchError;
use serde_json::Value;

/// Parses a pointer into unescaped steps.
///
/// # Errors
/// Returns an error if the pointer is not empty and does not start with a slash.
pub(super) fn parse(pointer: &str) -> Result<Vec<String>, PatchError> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err(PatchError::Unprocessable(format!("the path {pointer:?} does not start with a slash")));
    };
    Ok(rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

/// Returns the value at a path.
///
/// # Errors
/// Returns an error if there is no value.
pub(super) fn read<'a>(document: &'a Value, steps: &[String]) -> Result<&'a Value, PatchError> {
    steps.iter().try_fold(document, |place, step| child(place, step).ok_or_else(|| missing(steps)))
}

/// Removes the value at a path, and returns it.
///
/// # Errors
/// Returns an error if there is no value, or if the path is that of the document.
pub(super) fn remove(document: &mut Value, steps: &[String]) -> Result<Value, PatchError> {
    let (parent, last) = parent(document, steps)?;
    let removed = match parent {
        Value::Object(fields) => fields.remove(last),
        Value::Array(items) => index(last, items.len()).map(|at| items.remove(at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    removed.ok_or_else(|| missing(steps))
}

/// Adds a value at a path: to a list, before the item at this index; to an object, in place of a field of
/// this name.
///
/// # Errors
/// Returns an error if the parent is not a list or an object, or the index is out of range.
pub(super) fn add(document: &mut Value, steps: &[String], value: Value) -> Result<(), PatchError> {
    if steps.is_empty() {
        *document = value;
        return Ok(());
    }
    let (parent, last) = parent(document, steps)?;
    match parent {
        Value::Object(fields) => {
            fields.insert(last.to_owned(), value);
            Ok(())
        }
        Value::Array(items) => {
            let end = (last == "-").then_some(items.len());
            let at = end.or_else(|| index(last, items.len() + 1)).ok_or_else(|| missing(steps))?;
            items.insert(at, value);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing(steps)),
    }
}

/// Replaces the value at a path. As in kube-apiserver, a missing field of an object is added.
///
/// # Errors
/// Returns an error if the parent is not a list or an object, or the index is out of range.
pub(super) fn replace(document: &mut Value, steps: &[String], value: Value) -> Result<(), PatchError> {
    let Some((last, _)) = steps.split_last() else {
        *document = value;
        return Ok(());
    };
    let (parent, _) = parent(document, steps)?;
    match parent {
        Value::Object(fields) => drop(fields.insert(last.clone(), value)),
        Value::Array(items) => {
            let at = index(last, items.len()).ok_or_else(|| missing(steps))?;
            items[at] = value;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(missing(steps)),
    }
    Ok(())
}

fn parent<'a, 's>(
    document: &'a mut Value,
    steps: &'s [String],
) -> Result<(&'a mut Value, &'s str), PatchError> {
    let (last, way) = steps.split_last().ok_or_else(|| missing(steps))?;
    Ok((read_mut(document, way)?, last))
}

fn read_mut<'a>(document: &'a mut Value, steps: &[String]) -> Result<&'a mut Value, PatchError> {
    let mut place = document;
    for step in steps {
        place = match place {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => index(step, items.len()).map(|at| &mut items[at]),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
        .ok_or_else(|| missing(steps))?;
    }
    Ok(place)
}

fn child<'a>(place: &'a Value, step: &str) -> Option<&'a Value> {
    match place {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => index(step, items.len()).map(|at| &items[at]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Parses an index below a limit, without leading zeros or signs.
fn index(step: &str, limit: usize) -> Option<usize> {
    let is_plain = step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    step.parse().ok().filter(|at| is_plain && *at < limit)
}

fn missing(steps: &[String]) -> PatchError {
    PatchError::Unprocessable(format!("doc is missing path: \"/{}\"", steps.join("/")))
}
