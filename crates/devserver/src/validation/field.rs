//! A value with its path, and the errors of values.

use crate::invalid::FieldError;
use serde_json::Value;
use std::fmt::{self, Write as _};

/// A value in an object, with the way to it. It is copied freely; its path is written only for an error.
#[derive(Clone, Copy)]
pub(super) struct Field<'p, 'v> {
    parent: Option<&'p Field<'p, 'v>>,
    step: Step<'v>,
    value: &'v Value,
}

/// The last step of a path.
#[derive(Clone, Copy)]
enum Step<'v> {
    Root,
    Name(&'static str),
    Index(usize),
    Key(&'v str),
}

impl<'p, 'v> Field<'p, 'v> {
    /// Returns the object itself.
    pub(super) fn root(value: &'v Value) -> Self {
        Self { parent: None, step: Step::Root, value }
    }

    /// Returns the field with this name, which is null if it is absent.
    pub(super) fn get<'s>(&'s self, name: &'static str) -> Field<'s, 'v> {
        let value = self.value.get(name).unwrap_or(&Value::Null);
        Field { parent: Some(self), step: Step::Name(name), value }
    }

    /// Returns the value of a key of a map, which is null if it is absent.
    pub(super) fn key<'s>(&'s self, key: &'v str) -> Field<'s, 'v> {
        let value = self.value.get(key).unwrap_or(&Value::Null);
        Field { parent: Some(self), step: Step::Key(key), value }
    }

    /// Returns the items of a list.
    pub(super) fn items<'s>(&'s self) -> impl Iterator<Item = Field<'s, 'v>> + use<'s, 'p, 'v> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let parent = Some(self);
        items.iter().enumerate().map(move |(index, value)| Field { parent, step: Step::Index(index), value })
    }

    /// Returns the entries of a map.
    pub(super) fn entries<'s>(&'s self) -> impl Iterator<Item = (&'v str, Field<'s, 'v>)> + use<'s, 'p, 'v> {
        let parent = Some(self);
        let entries = self.value.as_object().into_iter().flatten();
        entries.map(move |(key, value)| (key.as_str(), Field { parent, step: Step::Key(key), value }))
    }

    /// Returns the value.
    pub(super) fn value(&self) -> &'v Value {
        self.value
    }

    /// Returns the same path with another value, such as the one that it had before.
    pub(super) fn with(&self, value: &'v Value) -> Self {
        Self { value, ..*self }
    }

    /// Returns whether the field has a value.
    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// Returns whether the value is absent, or an empty text, list or map.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
            && matches!(self.value, Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_))
    }

    /// Returns the length of a text, a list or a map, and 0 for other values.
    pub(super) fn len(&self) -> usize {
        match self.value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Returns a text, which is empty if the value is not one.
    pub(super) fn text(&self) -> &'v str {
        self.value.as_str().unwrap_or_default()
    }

    /// Returns a number.
    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Returns a number, or 0.
    pub(super) fn number_or_zero(&self) -> i64 {
        self.number().unwrap_or_default()
    }

    /// Returns whether the value is true.
    pub(super) fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// Returns whether the value is false.
    pub(super) fn is_false(&self) -> bool {
        *self.value == Value::Bool(false)
    }
}

impl fmt::Display for Field<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Name(name) => {
                if self.parent.is_some_and(|parent| !matches!(parent.step, Step::Root)) {
                    f.write_char('.')?;
                }
                f.write_str(name)
            }
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The errors that were found so far.
#[derive(Debug, Default)]
pub(super) struct Errors(Vec<FieldError>);

impl Errors {
    pub(super) fn into_inner(self) -> Vec<FieldError> {
        self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    pub(super) fn required(&mut self, field: &Field<'_, '_>, detail: &str) {
        self.0.push(FieldError::required(&field.to_string(), detail));
    }

    pub(super) fn invalid(&mut self, field: &Field<'_, '_>, detail: &str) {
        self.0.push(FieldError::invalid(&field.to_string(), field.value, detail));
    }

    pub(super) fn forbidden(&mut self, field: &Field<'_, '_>, detail: &str) {
        self.0.push(FieldError::forbidden(&field.to_string(), detail));
    }

    pub(super) fn duplicate(&mut self, field: &Field<'_, '_>) {
        self.0.push(FieldError::duplicate(&field.to_string(), field.value));
    }

    pub(super) fn not_found(&mut self, field: &Field<'_, '_>) {
        self.0.push(FieldError::not_found(&field.to_string(), field.value));
    }

    pub(super) fn unsupported(&mut self, field: &Field<'_, '_>, known: &[&str]) {
        self.0.push(FieldError::value_not_supported(&field.to_string(), field.value, known));
    }

    pub(super) fn too_long(&mut self, field: &Field<'_, '_>, most: usize) {
        self.0.push(FieldError::too_long(&field.to_string(), most));
    }

    pub(super) fn too_many(&mut self, field: &Field<'_, '_>, most: usize) {
        self.0.push(FieldError::too_many(&field.to_string(), field.len(), most as u64));
    }
}

/// Rules that need only the value.
impl Errors {
    /// Requires a value that is not empty, and returns whether there is one.
    pub(super) fn present(&mut self, field: &Field<'_, '_>) -> bool {
        let is_missing = field.is_empty();
        if is_missing {
            self.required(field, "");
        }
        !is_missing
    }

    /// Requires one of the known texts, and a text at all.
    pub(super) fn one_of(&mut self, field: &Field<'_, '_>, known: &[&str]) {
        if self.present(field) {
            self.known(field, known);
        }
    }

    /// Requires one of the known texts if there is a value.
    pub(super) fn optional_one_of(&mut self, field: &Field<'_, '_>, known: &[&str]) {
        if field.is_set() {
            self.known(field, known);
        }
    }

    /// Requires one of the known texts, of which none is empty.
    pub(super) fn known(&mut self, field: &Field<'_, '_>, known: &[&str]) {
        if !known.contains(&field.text()) {
            self.unsupported(field, known);
        }
    }

    /// Requires a number of at least 0 if there is one.
    pub(super) fn non_negative(&mut self, field: &Field<'_, '_>) {
        if field.number().is_some_and(|number| number < 0) {
            self.invalid(field, "must be greater than or equal to 0");
        }
    }

    /// Requires a number in a range if there is one.
    pub(super) fn in_range(&mut self, field: &Field<'_, '_>, least: i64, most: i64) {
        if field.number().is_some_and(|number| !(least..=most).contains(&number)) {
            self.invalid(field, &format!("must be between {least} and {most}, inclusive"));
        }
    }

    /// Requires the value that the field had before.
    pub(super) fn unchanged(&mut self, old: &Value, field: &Field<'_, '_>) {
        if old != field.value {
            self.invalid(field, "field is immutable");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_have_the_path_of_the_value() {
        let object =
            json!({"spec": {"containers": [{"ports": [{"name": ""}]}], "nodeSelector": {"a/b": "c"}}});
        let root = Field::root(&object);
        let spec = root.get("spec");
        let containers = spec.get("containers");
        let mut errors = Errors::default();
        for container in containers.items() {
            for port in container.get("ports").items() {
                errors.present(&port.get("name"));
            }
        }
        for (_, value) in spec.get("nodeSelector").entries() {
            errors.invalid(&value, "no");
        }
        let texts: Vec<_> = errors.into_inner().iter().map(ToString::to_string).collect();
        let expected = [
            "spec.containers[0].ports[0].name: Required value",
            "spec.nodeSelector[a/b]: Invalid value: \"c\": no",
        ];
        assert_eq!(texts, expected);
    }
}
