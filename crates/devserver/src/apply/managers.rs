//! The managers of an object and the fields that each owns: `metadata.managedFields`.

use crate::apply::{fields_v1::FieldsError, set::FieldSet};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A field manager, distinguished by operation, version and subresource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manager {
    /// The field manager of the request.
    pub(super) name: String,
    pub(super) operation: Operation,
    /// The version that it writes. It is empty for an applying manager, which is the same manager in all
    /// versions.
    pub(super) api_version: String,
    /// The subresource that it writes; empty for the object itself.
    pub(super) subresource: String,
}

/// The operation by which a manager became the owner of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    /// Any other operation: create, update, and the other patches.
    Update,
}

/// The fields of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) set: FieldSet,
    /// The version of the object to which the paths refer.
    pub(super) api_version: String,
    /// The time at which the manager last changed the object.
    pub(super) time: Option<String>,
}

/// Reports `managedFields` that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManagersError {
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    #[error("apiVersion must not be empty")]
    ApiVersion,
    #[error("invalid fieldsType {0:?} in managed fields entry {1}")]
    FieldsType(String, usize),
    #[error(transparent)]
    Fields(#[from] FieldsError),
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Managers(pub(super) BTreeMap<Manager, Owned>);

impl Manager {
    /// Creates a manager with the operation `Apply`.
    pub(super) fn applying(name: &str, subresource: &str) -> Self {
        let (name, subresource) = (name.to_owned(), subresource.to_owned());
        Self { name, operation: Operation::Apply, api_version: String::new(), subresource }
    }

    /// Creates a manager with the operation `Update`.
    pub(super) fn updating(name: &str, api_version: &str, subresource: &str) -> Self {
        // The default name comes from the user agent, which a client can omit.
        let name = if name.is_empty() { "unknown" } else { name }.to_owned();
        let (api_version, subresource) = (api_version.to_owned(), subresource.to_owned());
        Self { name, operation: Operation::Update, api_version, subresource }
    }
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Managers {
    /// Reads the managers in the metadata of an object.
    ///
    /// # Errors
    /// Returns an error if an entry is invalid.
    pub(super) fn of(object: &Value) -> Result<Self, ManagersError> {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let entries = entries.into_iter().flatten().enumerate();
        entries.map(|(place, entry)| read(entry, place)).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the managers into the metadata of an object.
    pub(super) fn write(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if self.0.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by_key(|(manager, owned)| {
            (manager.operation, &owned.time, &manager.name, &owned.api_version, &manager.subresource)
        });
        let entries = entries.into_iter().map(|(manager, owned)| entry(manager, owned)).collect();
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }

    /// Removes managers that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.set.is_empty());
    }
}

fn read(entry: &Value, place: usize) -> Result<(Manager, Owned), ManagersError> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagersError::Operation),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err(ManagersError::ApiVersion);
    }
    if text("fieldsType") != "FieldsV1" {
        return Err(ManagersError::FieldsType(text("fieldsType").to_owned(), place));
    }
    let set = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => FieldSet::from_fields(fields)?,
    };
    let of_identity = match operation {
        Operation::Apply => "",
        Operation::Update => api_version,
    };
    let manager = Manager {
        name: text("manager").to_owned(),
        operation,
        api_version: of_identity.to_owned(),
        subresource: text("subresource").to_owned(),
    };
    let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
    Ok((manager, Owned { set, api_version: api_version.to_owned(), time }))
}

fn entry(manager: &Manager, owned: &Owned) -> Value {
    let mut entry = Map::new();
    let mut put = |name: &str, text: &str| {
        if !text.is_empty() {
            entry.insert(name.to_owned(), text.into());
        }
    };
    put("manager", &manager.name);
    put("operation", manager.operation.as_str());
    put("apiVersion", &owned.api_version);
    put("time", owned.time.as_deref().unwrap_or_default());
    put("fieldsType", "FieldsV1");
    put("subresource", &manager.subresource);
    entry.insert("fieldsV1".to_owned(), owned.set.to_fields());
    json!(entry)
}
