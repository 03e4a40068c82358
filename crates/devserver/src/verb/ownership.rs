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
    aspect: ObjectPart,
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
    pub(crate) fn new(
        request: &'r Request,
        aspect: ObjectPart,
        options: &str,
    ) -> Result<Self, ErrorResponse> {
        let resource = &*request.resource;
        let (api_version, empty) = (resource.api_version(), empty(resource));
        let manager = request.field_manager(options)?;
        Ok(Self { resource, api_version, aspect, manager, now: now(), empty })
    }

    fn tracker(&self) -> Tracker<'_> {
        let (manager, subresource) = (self.manager.as_str(), self.aspect.subresource());
        Tracker {
            schema: types(self.resource),
            api_version: &self.api_version,
            kind: &self.resource.kind,
            ignored: self.aspect.ignored(self.resource),
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
    let entries = |object: &Value| {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let mut entries = entries.cloned().unwrap_or_default();
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        entries
    };
    entries(old) == entries(new)
}
