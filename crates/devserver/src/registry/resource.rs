//! One resource in one version: its names, scope and verbs.

use crate::apply::Schema;
use crate::structural::Structural;
use serde_json::Value;
use std::sync::Arc;

/// A served resource in one of its versions.
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
    /// The short names, such as `po`.
    pub(crate) short_names: Vec<String>,
    /// The categories, such as `all`.
    pub(crate) categories: Vec<String>,
    /// The scope.
    pub(crate) scope: Scope,
    /// Built-in or custom.
    pub(crate) origin: Origin,
    /// Whether status is a subresource, so that it is not written together with the rest.
    pub(crate) has_status: bool,
    /// The paths of the fields of the scale subresource, if the resource has one.
    pub(crate) scale: Option<ScalePaths>,
    /// Whether `metadata.generation` counts the changes.
    pub(crate) has_generation: bool,
    /// Whether an update creates an object that does not exist.
    pub(crate) is_made_by_update: bool,
    /// Whether an update requires a resourceVersion.
    pub(crate) needs_version: bool,
    /// True if its objects are reviews, which are not stored.
    pub(crate) is_review: bool,
    /// The printer columns of its definition.
    pub(crate) columns: Vec<PrinterColumn>,
    /// The fields of custom resources that a field selector may name, without a leading dot.
    pub(crate) selectable_fields: Vec<String>,
    /// The types of custom resources in all versions. The types of built-in resources are in a table.
    pub(crate) types: Option<Arc<Schema>>,
    /// The schema of custom resources in this version.
    pub(crate) schema: Option<Arc<Structural>>,
    /// The schema of custom resources in the version in which they are stored, if it is another one.
    pub(crate) storage_schema: Option<Arc<Structural>>,
    /// The conversion from and to the stored version; `None` if this is the stored version, or no webhook converts objects.
    pub(crate) conversion: Option<Arc<Conversion>>,
    /// The `openAPIV3Schema` of custom resources in this version, for the OpenAPI documents.
    pub(crate) openapi: Option<Arc<Value>>,
}

/// The conversion of a custom resource by a webhook.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversion {
    /// The `apiVersion` in which objects are stored.
    pub(crate) storage_version: String,
    /// The address of the webhook.
    pub(crate) client_config: Value,
    /// The version of the reviews.
    pub(crate) review_version: String,
}

/// The scope of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Namespaced.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// The origin of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    BuiltIn,
    /// A CustomResourceDefinition.
    Custom,
}

/// The simple JSON paths, such as `.spec.replicas`, of the fields of a scale subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// The desired replicas.
    pub(crate) spec_replicas: String,
    /// The current replicas.
    pub(crate) status_replicas: String,
    /// The label selector.
    pub(crate) selector: Option<String>,
}

/// A column of a table, as a CustomResourceDefinition describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PrinterColumn {
    /// The heading.
    pub(crate) name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub(crate) value_type: String,
    /// The format, such as `int32`; may be empty.
    pub(crate) format: String,
    /// The description.
    pub(crate) description: String,
    /// The priority: columns above 0 are shown in wide tables only.
    pub(crate) priority: i64,
    /// The path of the value.
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

    /// Returns the identity that all versions of a resource share.
    pub(crate) fn storage(&self) -> (&str, &str) {
        (&self.group, &self.plural)
    }

    /// Returns whether it is namespaced.
    pub(crate) fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Returns whether it is a custom resource.
    pub(crate) fn is_custom(&self) -> bool {
        self.origin == Origin::Custom
    }

    /// Returns whether it has this group and plural name.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.storage() == (group, plural)
    }

    /// Returns its verbs, in the order of discovery.
    pub(crate) fn verbs(&self) -> &'static [&'static str] {
        if self.is_review {
            return &["create"];
        }
        // Namespaces cannot be deleted as a collection, because the deletion of each one also deletes its contents.
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
