//! One resource in one version: its names, its scope and what can be done with it.

use crate::apply::Schema;
use crate::structural::Structural;
use serde_json::Value;
use std::sync::Arc;

/// A kind of object that is served, in one of its versions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resource {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version of the group, such as `v1`.
    pub(crate) version: String,
    /// The name in paths, such as `pods`.
    pub(crate) plural: String,
    /// The name that kubectl accepts too, such as `pod`.
    pub(crate) singular: String,
    /// The kind of one object.
    pub(crate) kind: String,
    /// The kind of a list of objects.
    pub(crate) list_kind: String,
    /// What people type, such as `po`.
    pub(crate) short_names: Vec<String>,
    /// Groups of resources that it is part of, such as `all`.
    pub(crate) categories: Vec<String>,
    /// Where its objects live.
    pub(crate) scope: Scope,
    /// Whether it is part of Kubernetes.
    pub(crate) origin: Origin,
    /// Whether status is a subresource, so that it is not written together with the rest.
    pub(crate) has_status: bool,
    /// Where the scale subresource finds its fields, if there is one.
    pub(crate) scale: Option<ScalePaths>,
    /// Whether `metadata.generation` counts the changes.
    pub(crate) has_generation: bool,
    /// Whether an update makes an object that is not there.
    pub(crate) is_made_by_update: bool,
    /// Whether an update has to say of which version it is.
    pub(crate) needs_version: bool,
    /// Whether its objects are questions that are answered and not stored.
    pub(crate) is_review: bool,
    /// The columns that its definition asks for in a table.
    pub(crate) columns: Vec<PrinterColumn>,
    /// The fields of custom resources that a field selector may name, without a leading dot.
    pub(crate) selectable_fields: Vec<String>,
    /// The types of custom resources in all versions; those of built-in ones are in a table.
    pub(crate) types: Option<Arc<Schema>>,
    /// The schema of custom resources in this version.
    pub(crate) schema: Option<Arc<Structural>>,
    /// The schema of custom resources in the version in which they are stored, if it is another one.
    pub(crate) storage_schema: Option<Arc<Structural>>,
}

/// Where the objects of a resource live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In a namespace.
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
}

/// Who defines a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is part of Kubernetes.
    BuiltIn,
    /// A CustomResourceDefinition defines it.
    Custom,
}

/// The simple JSON paths, such as `.spec.replicas`, of what a scale subresource shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// How many are wanted.
    pub(crate) spec_replicas: String,
    /// How many there are.
    pub(crate) status_replicas: String,
    /// Which they are, as a label selector.
    pub(crate) selector: Option<String>,
}

/// A column of a table, as a CustomResourceDefinition describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PrinterColumn {
    /// The heading.
    pub(crate) name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub(crate) value_type: String,
    /// How the value is written, such as `int32`; may be empty.
    pub(crate) format: String,
    /// What it means.
    pub(crate) description: String,
    /// Columns above 0 are left out unless there is room.
    pub(crate) priority: i64,
    /// Where the value stands in the object.
    pub(crate) json_path: String,
}

impl Resource {
    /// The `apiVersion` of its objects: `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// The name that messages use: `pods`, `deployments.apps`.
    pub(crate) fn group_resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// What all versions of a resource have in common; they share their objects.
    pub(crate) fn storage(&self) -> (&str, &str) {
        (&self.group, &self.plural)
    }

    /// Whether its objects live in namespaces.
    pub(crate) fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Whether a CustomResourceDefinition defines it.
    pub(crate) fn is_custom(&self) -> bool {
        self.origin == Origin::Custom
    }

    /// Whether it has this group and this name in paths.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.storage() == (group, plural)
    }

    /// What can be done with its objects, in the order in which discovery tells.
    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.is_review {
            return &["create"];
        }
        // A namespace goes together with all that it holds, so that they cannot go by the dozen.
        if self.is("", "namespaces") {
            return &["create", "delete", "get", "list", "patch", "update", "watch"];
        }
        &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    }

    /// Writes its `apiVersion` and `kind` into an object.
    pub(crate) fn write_type(&self, object: &mut Value) {
        if let Value::Object(fields) = object {
            fields.insert("apiVersion".to_owned(), self.api_version().into());
            fields.insert("kind".to_owned(), self.kind.clone().into());
        }
    }
}

/// Joins a group and a version as `apiVersion` has them.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
