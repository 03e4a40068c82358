//! Who owns the fields of an object that a request writes.

use crate::apply::{ApplyError, Conflict, Force, Tracker, Writer};
use crate::object::{empty, metadata, types};
use crate::registry::Resource;
use crate::verb::{clock::now, error_response::ErrorResponse, object_part::ObjectPart, request::Request};
use serde_json::Value;

/// The ownership of what one request writes.
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
    /// Prepares the ownership for a request; its field manager, or the name of its program, owns what it writes.
    ///
    /// # Errors
    /// If the field manager has no valid name.
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

    /// Records the owners in an object that a request creates.
    pub(crate) fn create(&self, new: &mut Value) {
        self.tracker().update(&self.empty, new);
    }

    /// Records the owners in the next state of an object.
    pub(crate) fn update(&self, live: &Value, new: &mut Value) {
        self.tracker().update(live, new);
    }

    /// Returns the next state of an object to which a configuration is applied; `None` is one that is not there.
    ///
    /// # Errors
    /// If the configuration is invalid, or others own what it changes.
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

/// Removes the managed fields of an object and returns them.
pub(crate) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    metadata::of(object).remove("managedFields")
}

/// Gives an object the managed fields that another state of it had.
pub(crate) fn put_managed_fields(object: &mut Value, fields: Option<&Value>) {
    metadata::keep("managedFields", fields, metadata::of(object));
}

/// Returns whether two objects have the same managed fields but for the times.
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
