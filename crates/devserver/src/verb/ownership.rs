//! Tracks the owners of the fields that a request writes.

use crate::apply::{ApplyError, Conflict, Force, Tracker, Writer};
use crate::object::{empty, metadata, types};
use crate::registry::Resource;
use crate::verb::{clock::now, error_response::ErrorResponse, object_part::ObjectPart, request::Request};
use serde_json::Value;

/// Tracks the owners of the fields that one request writes.
#[derive(Debug)]
pub(crate) struct Ownership<'r> {
    resource: &'r Resource,
    api_version: String,
    part: ObjectPart,
    manager: String,
    now: String,
    empty: Value,
}

impl<'r> Ownership<'r> {
    /// Creates the tracker for a request. The owner is its field manager, or by default the program in the
    /// user agent.
    ///
    /// # Errors
    /// Returns an error if the name of the field manager is invalid.
    pub(crate) fn new(request: &'r Request, part: ObjectPart, options: &str) -> Result<Self, ErrorResponse> {
        let resource = &*request.resource;
        let (api_version, empty) = (resource.api_version(), empty(resource));
        let manager = request.field_manager(options)?;
        Ok(Self { resource, api_version, part, manager, now: now(), empty })
    }

    fn tracker(&self) -> Tracker<'_> {
        let (manager, subresource) = (self.manager.as_str(), self.part.subresource());
        Tracker {
            schema: types(self.resource),
            api_version: &self.api_version,
            kind: &self.resource.kind,
            ignored: self.part.ignored(self.resource),
            empty: &self.empty,
            writer: Writer { manager, subresource, now: &self.now },
        }
    }

    /// Records the owners of the fields of a created object.
    pub(crate) fn create(&self, new: &mut Value) {
        self.tracker().update(&self.empty, new);
    }

    /// Records the owners of the fields of an updated object.
    pub(crate) fn update(&self, live: &Value, new: &mut Value) {
        self.tracker().update(live, new);
    }

    /// Applies a configuration to an object, and returns the new state; `live` is `None` if the object does
    /// not exist.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid, or if other managers own fields that it changes.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        config: &Value,
        force: Force,
    ) -> Result<Value, ErrorResponse> {
        let applied = self.tracker().apply(live.unwrap_or(&self.empty), config, force);
        applied.map_err(|error| refuse(&error))
    }
}

fn refuse(error: &ApplyError) -> ErrorResponse {
    match error {
        ApplyError::Conflicts(conflicts) => {
            ErrorResponse::apply_conflict(&Conflict::message(conflicts), conflicts)
        }
        ApplyError::Invalid(message) => ErrorResponse::bad_request(message),
        ApplyError::Type(_) | ApplyError::Managers(_) => ErrorResponse::unexplained(&error.to_string()),
    }
}

/// Removes the managed fields of an object, and returns them.
pub(crate) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    metadata::of(object).remove("managedFields")
}

/// Sets the managed fields of an object to those of another state.
pub(crate) fn put_managed_fields(object: &mut Value, fields: Option<&Value>) {
    metadata::keep("managedFields", fields, metadata::of(object));
}

/// Returns true if the managed fields of two objects differ only in their times.
pub(crate) fn differ_in_times_only(old: &Value, new: &Value) -> bool {
    let [old, new] = [old, new].map(|object| {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        entries.map(Vec::as_slice).unwrap_or_default()
    });
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_same_but_time(old, new))
}

fn is_same_but_time(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return old == new };
    let [old, new] = [old, new].map(|entry| entry.iter().filter(|(name, _)| *name != "time"));
    old.eq(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_unchanged(old: Value, new: Value) -> bool {
        let [old, new] = [old, new].map(|fields| json!({ "metadata": { "managedFields": fields } }));
        differ_in_times_only(&old, &new)
    }

    #[test]
    fn managed_fields_are_compared_without_their_times() {
        let entry = |manager: &str, time: &str| json!({ "manager": manager, "time": time });
        assert!(is_unchanged(
            json!([entry("a", "1"), { "manager": "b" }]),
            json!([entry("a", "2"), entry("b", "3")])
        ));
        assert!(!is_unchanged(json!([entry("a", "1")]), json!([entry("b", "1")])));
        assert!(!is_unchanged(json!([entry("a", "1")]), json!([entry("a", "1"), entry("b", "1")])));
        assert!(!is_unchanged(json!(["a"]), json!([{}])));
        assert!(differ_in_times_only(&json!({}), &json!({ "metadata": {} })));
    }
}
