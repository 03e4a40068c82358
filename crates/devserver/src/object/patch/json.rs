//! JSON patch (RFC 6902), with limits.

use crate::object::patch::error::PatchError;
use crate::object::patch::pointer;
use serde_json::Value;

/// Applies all operations of a list, or none.
///
/// # Errors
/// Returns an error if the patch is not a list of operations, an operation cannot be applied, a test fails,
/// or the object would exceed a limit.
pub(crate) fn json(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::Malformed("a JSON patch must be a list of operations".to_owned()));
    };
    if operations.len() > MAX_OPERATIONS {
        let found = operations.len();
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {found}"
        )));
    }
    let mut document = Document { value: object.clone(), copied: 0 };
    operations.iter().try_for_each(|operation| document.apply(operation))?;
    if !document.value.is_object() {
        return Err(PatchError::Unprocessable("the patch leaves no object".to_owned()));
    }
    Ok(document.value)
}

/// The maximum number of operations, as in kube-apiserver.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum number of bytes that copies can add, so that a short patch cannot double an object repeatedly.
const MAX_COPIED: usize = 3 << 20;
/// The maximum depth of the object; JSON with a larger depth could not be parsed again.
pub(crate) const DEEPEST: usize = 120;

struct Document {
    value: Value,
    copied: usize,
}

impl Document {
    fn apply(&mut self, operation: &Value) -> Result<(), PatchError> {
        let path = pointer::parse(text(operation, "path")?)?;
        match text(operation, "op")? {
            "add" => self.add(&path, value(operation)?.clone()),
            "remove" => pointer::remove(&mut self.value, &path).map(drop),
            "replace" => {
                let value = value(operation)?.clone();
                check_depth(&path, &value)?;
                pointer::replace(&mut self.value, &path, value)
            }
            "move" => {
                let from = pointer::parse(text(operation, "from")?)?;
                if path.len() > from.len() && path.starts_with(&from) {
                    return Err(PatchError::Unprocessable("a value cannot move into itself".to_owned()));
                }
                let moved = pointer::remove(&mut self.value, &from)?;
                self.add(&path, moved)
            }
            "copy" => {
                let from = pointer::parse(text(operation, "from")?)?;
                let copy = pointer::read(&self.value, &from)?;
                self.copied += size(copy);
                if self.copied > MAX_COPIED {
                    let message = format!("copies would add more than {MAX_COPIED} bytes");
                    return Err(PatchError::TooLarge(message));
                }
                self.add(&path, copy.clone())
            }
            "test" => self.test(&path, operation.get("value").unwrap_or(&Value::Null)),
            other => Err(PatchError::Unprocessable(format!("Unexpected kind: {other}"))),
        }
    }

    fn add(&mut self, path: &[String], value: Value) -> Result<(), PatchError> {
        check_depth(path, &value)?;
        pointer::add(&mut self.value, path, value)
    }

    fn test(&self, path: &[String], expected: &Value) -> Result<(), PatchError> {
        let parent = path.split_last().map(|(_, parent)| pointer::read(&self.value, parent)).transpose()?;
        // An absent field of an object equals null, as in kube-apiserver.
        let found = match parent {
            Some(Value::Object(_)) => pointer::read(&self.value, path).unwrap_or(&Value::Null),
            Some(_) | None => pointer::read(&self.value, path)?,
        };
        if found == expected {
            return Ok(());
        }
        Err(PatchError::Unprocessable(format!("testing value /{} failed: test failed", path.join("/"))))
    }
}

fn check_depth(path: &[String], value: &Value) -> Result<(), PatchError> {
    if path.len() + depth(value) > DEEPEST {
        return Err(PatchError::TooLarge(format!("the object would be more than {DEEPEST} levels deep")));
    }
    Ok(())
}

fn text<'a>(operation: &'a Value, field: &str) -> Result<&'a str, PatchError> {
    let found = operation.get(field).and_then(Value::as_str);
    found.ok_or_else(|| PatchError::Unprocessable(format!("a JSON patch operation has no {field:?}")))
}

fn value(operation: &Value) -> Result<&Value, PatchError> {
    let found = operation.get("value");
    found.ok_or_else(|| PatchError::Unprocessable("a JSON patch operation has no \"value\"".to_owned()))
}

/// Returns the approximate size of a value as JSON, which is at least the number of its parts.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + size(value) + 4).sum::<usize>()
        }
    }
}

/// Returns the nesting depth of objects and lists.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
