//! Decides whether a user is allowed to make a request, by the stored roles and bindings.

use crate::object::{label_selector_matches, metadata};
use crate::rbac::{
    Attributes, DEFAULT_BINDINGS, PolicyRule, ResourceAttributes, User, default_role, service_account,
};
use crate::registry::Resource;
use crate::storage::{CollectionId, Selection, Span, head};
use crate::verb::{
    cluster::{Cluster, Controllers},
    error_response::ErrorResponse,
    request::Request,
};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The result of an authorization check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) is_allowed: bool,
    /// The binding that allows the request, or the roles that could not be read; may be empty.
    pub(crate) reason: String,
}

/// The rules that bindings give to a user.
#[derive(Debug, Default)]
pub(crate) struct Granted {
    /// The rules, each with its binding.
    pub(crate) rules: Vec<SourcedRule>,
    /// The errors for roles that do not exist.
    pub(crate) errors: Vec<String>,
}

/// A rule, and the binding that grants it.
#[derive(Debug)]
pub(crate) struct SourcedRule {
    pub(crate) rule: PolicyRule,
    source: Arc<str>,
}

const GROUP: &str = "rbac.authorization.k8s.io";

/// Decides whether a user is allowed to make a request with these attributes.
pub(crate) fn authorize(cluster: &Cluster, user: &User, attributes: &Attributes) -> Decision {
    if user.is_master() {
        return Decision { is_allowed: true, reason: String::new() };
    }
    let granted = granted(cluster, user, attributes.namespace());
    match granted.rules.iter().find(|one| one.rule.allows(attributes)) {
        Some(one) => Decision { is_allowed: true, reason: format!("RBAC: allowed by {}", one.source) },
        None => Decision {
            is_allowed: false,
            reason: granted.error().map_or(String::new(), |error| format!("RBAC: {error}")),
        },
    }
}

/// Returns an error if a user is not allowed to make a request.
///
/// # Errors
/// Returns 403 with the message of kube-apiserver.
pub(crate) fn check(cluster: &Cluster, user: &User, attributes: &Attributes) -> Result<(), ErrorResponse> {
    let Decision { is_allowed, reason } = authorize(cluster, user, attributes);
    if is_allowed { Ok(()) } else { Err(ErrorResponse::not_authorized(user, attributes, &reason)) }
}

/// Returns an error if an update or an apply creates the object in the path, and the user is not allowed to
/// create it.
///
/// # Errors
/// Returns 403 with the message of kube-apiserver.
pub(crate) fn check_create(cluster: &Cluster, request: &Request) -> Result<(), ErrorResponse> {
    if request.user.is_master() {
        return Ok(());
    }
    let attributes = ResourceAttributes {
        verb: "create".to_owned(),
        group: request.resource.group.clone(),
        resource: request.resource.plural.clone(),
        namespace: request.namespace.clone().unwrap_or_default(),
        name: request.name.clone(),
        ..ResourceAttributes::default()
    };
    check(cluster, &request.user, &Attributes::Resource(attributes))
}

/// Returns the rules of a user in a namespace; cluster-wide if the namespace is empty.
pub(crate) fn granted(cluster: &Cluster, user: &User, namespace: &str) -> Granted {
    let mut granted = Granted::default();
    for default in DEFAULT_BINDINGS.iter().filter(|one| user.is_in(one.group)) {
        let source = format!(
            "ClusterRoleBinding {0:?} of ClusterRole {0:?} to Group {1:?}",
            default.role, default.group
        );
        let role = RoleRef { kind: "ClusterRole".to_owned(), name: default.role.to_owned() };
        granted.add(source, rules_of(cluster, &role, ""));
    }
    for binding in bindings(cluster, "clusterrolebindings", None) {
        granted.add_binding(cluster, user, &binding);
    }
    if !namespace.is_empty() {
        for binding in bindings(cluster, "rolebindings", Some(namespace)) {
            granted.add_binding(cluster, user, &binding);
        }
    }
    granted
}

/// Returns the rules of the role that a binding refers to.
///
/// # Errors
/// Returns a message if the role does not exist or the binding is invalid.
pub(crate) fn role_rules(cluster: &Cluster, binding: &Value) -> Result<Vec<PolicyRule>, String> {
    let read = Binding::deserialize(binding).map_err(|error| error.to_string())?;
    rules_of(cluster, &read.role_ref, metadata::namespace(binding))
}

impl Granted {
    /// Returns the errors as one text.
    pub(crate) fn error(&self) -> Option<String> {
        let mut errors = self.errors.clone();
        errors.dedup();
        match errors.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            all => Some(format!("[{}]", all.join(", "))),
        }
    }

    fn add_binding(&mut self, cluster: &Cluster, user: &User, binding: &Binding) {
        let Some(subject) = binding.subjects.iter().find(|one| one.is(user, &binding.metadata.namespace))
        else {
            return;
        };
        let Binding { role_ref, metadata, .. } = binding;
        let role = format!("{} {:?}", role_ref.kind, role_ref.name);
        let subject = subject.describe(&metadata.namespace);
        let source = match metadata.namespace.as_str() {
            "" => format!("ClusterRoleBinding {:?} of {role} to {subject}", metadata.name),
            namespace => {
                let name = format!("{}/{namespace}", metadata.name);
                format!("RoleBinding {name:?} of {role} to {subject}")
            }
        };
        self.add(source, rules_of(cluster, role_ref, &metadata.namespace));
    }

    fn add(&mut self, source: String, rules: Result<Vec<PolicyRule>, String>) {
        let source: Arc<str> = source.into();
        match rules {
            Ok(rules) => {
                let sourced = rules.into_iter().map(|rule| SourcedRule { rule, source: Arc::clone(&source) });
                self.rules.extend(sourced);
            }
            Err(error) => self.errors.push(error),
        }
    }
}

/// The relevant fields of a RoleBinding or ClusterRoleBinding.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    subjects: Vec<Subject>,
    role_ref: RoleRef,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    namespace: String,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RoleRef {
    kind: String,
    name: String,
}

/// The relevant fields of a Role or ClusterRole.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Role {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    rules: Option<Vec<PolicyRule>>,
    #[serde(default)]
    aggregation_rule: Option<Value>,
}

impl Subject {
    fn is(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name(),
            "Group" => user.is_in(&self.name),
            "ServiceAccount" => {
                let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
                let account = service_account(user.name());
                account.is_some_and(|account| account.namespace == namespace && account.name == self.name)
            }
            _ => false,
        }
    }

    fn describe(&self, namespace: &str) -> String {
        let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
        match self.kind.as_str() {
            "ServiceAccount" => format!("ServiceAccount {:?}", format!("{}/{namespace}", self.name)),
            kind => format!("{kind} {:?}", self.name),
        }
    }
}

fn bindings(cluster: &Cluster, plural: &str, namespace: Option<&str>) -> Vec<Binding> {
    read_all(cluster, plural, namespace)
}

fn rules_of(cluster: &Cluster, role: &RoleRef, namespace: &str) -> Result<Vec<PolicyRule>, String> {
    let (plural, key) = match role.kind.as_str() {
        "Role" => ("roles", format!("{namespace}/{}", role.name)),
        "ClusterRole" => ("clusterroles", role.name.clone()),
        kind => return Err(format!("unsupported role reference kind: {kind:?}")),
    };
    let stored = resource(cluster, plural).and_then(|resource| cluster.read(&resource, &key));
    match stored {
        Some((_, object)) => {
            let found = Role::deserialize(&object).map_err(|error| error.to_string())?;
            Ok(aggregated(cluster, found))
        }
        None => {
            let default = (role.kind == "ClusterRole").then(|| default_role(&role.name)).flatten();
            let default = default.map(|rules| with_additions(cluster, &role.name, rules));
            default.ok_or_else(|| {
                format!("{}.{GROUP} {:?} not found", role.kind.to_ascii_lowercase(), role.name)
            })
        }
    }
}

/// Returns the rules of a cluster role, which can aggregate those of other roles.
fn aggregated(cluster: &Cluster, role: Role) -> Vec<PolicyRule> {
    let own = role.rules.unwrap_or_default();
    // A real kube-controller-manager writes the aggregated rules into the role.
    let (Some(aggregation), Controllers::BuiltIn) = (role.aggregation_rule, cluster.controllers) else {
        return own;
    };
    let selectors = aggregation["clusterRoleSelectors"].as_array().cloned().unwrap_or_default();
    let all: Vec<Role> = read_all(cluster, "clusterroles", None);
    let selects = |one: &Role| {
        let labels = serde_json::json!({ "metadata": { "labels": one.metadata.labels } });
        selectors.iter().any(|selector| label_selector_matches(Some(selector), &labels))
    };
    all.into_iter().filter(selects).flat_map(|one| one.rules.unwrap_or_default()).collect()
}

/// Adds the rules of stored roles that are aggregated into a default role.
fn with_additions(cluster: &Cluster, name: &str, mut rules: Vec<PolicyRule>) -> Vec<PolicyRule> {
    if matches!(name, "admin" | "edit" | "view") {
        let all: Vec<Role> = read_all(cluster, "clusterroles", None);
        let parts: &[&str] = match name {
            "admin" => &["admin", "edit", "view"],
            "edit" => &["edit", "view"],
            _ => &["view"],
        };
        let is_part = |one: &Role| {
            let label = |part: &&str| one.metadata.labels.get(&format!("{GROUP}/aggregate-to-{part}"));
            parts.iter().filter_map(label).any(|value| value == "true")
        };
        rules.extend(all.into_iter().filter(is_part).flat_map(|one| one.rules.unwrap_or_default()));
    }
    rules
}

/// Reads all objects of a resource of RBAC; invalid objects are skipped.
fn read_all<T: serde::de::DeserializeOwned>(
    cluster: &Cluster,
    plural: &str,
    namespace: Option<&str>,
) -> Vec<T> {
    let Some(resource) = resource(cluster, plural) else { return Vec::new() };
    let selection = Selection::everything(namespace);
    let page = cluster.store.list(&CollectionId::from(resource.storage()), &selection, &Span::default());
    let head = head(&resource.api_version(), &resource.kind);
    let records = page.map(|page| page.records).unwrap_or_default();
    records.iter().filter_map(|record| serde_json::from_value(record.to_value(&head)).ok()).collect()
}

fn resource(cluster: &Cluster, plural: &str) -> Option<Arc<Resource>> {
    cluster.registry().resource(GROUP, "v1", plural).cloned()
}
