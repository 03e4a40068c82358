//! The variables that expressions in admission refer to.

use super::review::Attributes;
use crate::expression::{DYNAMIC, Expression, Selection, Variables, from_json, output_type, selections};
use serde_json::{Value, json};

/// The variables of all expressions.
const VARIABLES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];
/// The fields of `request` with their types.
const REQUEST: &[(&str, &str)] = &[
    ("kind", "kubernetes.GroupVersionKind"),
    ("kind.group", "string"),
    ("kind.version", "string"),
    ("kind.kind", "string"),
    ("resource", "kubernetes.GroupVersionResource"),
    ("resource.group", "string"),
    ("resource.version", "string"),
    ("resource.resource", "string"),
    ("subResource", "string"),
    ("requestKind", "kubernetes.GroupVersionKind"),
    ("requestKind.group", "string"),
    ("requestKind.version", "string"),
    ("requestKind.kind", "string"),
    ("requestResource", "kubernetes.GroupVersionResource"),
    ("requestResource.group", "string"),
    ("requestResource.version", "string"),
    ("requestResource.resource", "string"),
    ("requestSubResource", "string"),
    ("name", "string"),
    ("namespace", "string"),
    ("operation", "string"),
    ("userInfo", "kubernetes.UserInfo"),
    ("userInfo.username", "string"),
    ("userInfo.uid", "string"),
    ("dryRun", "bool"),
];
/// The fields of `request` that have further fields, which are not declared.
const OPEN_REQUEST: &[(&str, &str)] = &[
    ("userInfo.groups", "list(string)"),
    ("userInfo.extra", "map(string, list(string))"),
    ("options", DYNAMIC),
];
/// The fields of `namespaceObject` with their types.
const NAMESPACE: &[(&str, &str)] = &[
    ("metadata", "kubernetes.NamespaceMetadata"),
    ("metadata.name", "string"),
    ("metadata.generateName", "string"),
    ("metadata.namespace", "string"),
    ("metadata.UID", "string"),
    ("metadata.creationTimestamp", "google.protobuf.Timestamp"),
    ("metadata.deletionGracePeriodSeconds", "int"),
    ("metadata.deletionTimestamp", "google.protobuf.Timestamp"),
    ("metadata.generation", "int"),
    ("metadata.resourceVersion", "string"),
    ("spec", "kubernetes.NamespaceSpec"),
    ("status", "kubernetes.NamespaceStatus"),
    ("status.phase", "string"),
];
const OPEN_NAMESPACE: &[(&str, &str)] = &[
    ("metadata.labels", "map(string, string)"),
    ("metadata.annotations", "map(string, string)"),
    ("metadata.finalizers", "list(string)"),
    ("spec.finalizers", "list(string)"),
    ("status.conditions", "list(kubernetes.NamespaceCondition)"),
];

/// The names that are declared for an expression, in addition to those that all have.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Whether there is `params`.
    pub(super) has_params: bool,
    /// The variables of a policy and their types; `None` if expressions cannot refer to them.
    pub(super) variables: Option<Vec<(String, &'static str)>>,
}

impl Scope {
    /// Compiles an expression whose value has one of these types; any if there are none. Returns it with the type.
    ///
    /// # Errors
    /// If it does not compile, or its value has another type.
    pub(super) fn compile(&self, source: &str, types: &[&str]) -> Result<(Expression, &'static str), String> {
        let own = [("params", self.has_params), ("variables", self.variables.is_some())];
        let own = own.iter().filter(|(_, is_declared)| *is_declared).map(|(name, _)| *name);
        let names: Vec<_> = VARIABLES.into_iter().chain(own).collect();
        let expression = Expression::compile(source, &names)?;
        let undeclared =
            selections(expression.syntax()).into_iter().find_map(|selection| self.undeclared(&selection));
        if let Some(field) = undeclared {
            return Err(format!("compilation failed: undefined field '{field}'"));
        }
        let found = output_type(expression.syntax(), &|selection| self.type_of(selection));
        match found.filter(|found| !types.is_empty() && !types.contains(found)) {
            None => Ok((expression, found.unwrap_or(DYNAMIC))),
            Some(found) if types.len() == 1 => Err(format!("must evaluate to {} but got {found}", types[0])),
            Some(found) => Err(format!("must evaluate to one of [{}] but got {found}", types.join(" "))),
        }
    }

    /// Returns the first field of a selection that its variable does not have.
    fn undeclared(&self, selection: &Selection) -> Option<String> {
        let fields = &selection.fields;
        if selection.variable == "variables" {
            let known = self.variables.as_deref().unwrap_or_default();
            return fields.first().filter(|field| known.iter().all(|(name, _)| name != *field)).cloned();
        }
        let (declared, open) = declarations(&selection.variable)?;
        let mut path = String::new();
        for field in fields {
            path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
            if open.iter().any(|(name, _)| *name == path) {
                return None;
            }
            if declared.iter().all(|(name, _)| *name != path) {
                return Some(field.clone());
            }
        }
        None
    }

    fn type_of(&self, selection: &Selection) -> Option<&'static str> {
        let Selection { variable, fields } = selection;
        match variable.as_str() {
            "object" | "oldObject" | "params" => Some(DYNAMIC),
            "variables" => {
                let (first, rest) = fields.split_first()?;
                let known = self.variables.as_deref().unwrap_or_default();
                let (_, found) = known.iter().find(|(name, _)| name == first)?;
                (rest.is_empty() || *found == DYNAMIC).then_some(*found)
            }
            _ => {
                let (declared, open) = declarations(variable)?;
                let path = fields.join(".");
                let found = declared.iter().chain(open).find(|(name, _)| *name == path);
                found.map(|(_, found)| *found)
            }
        }
    }
}

type Declarations = &'static [(&'static str, &'static str)];

/// Returns the fields of a variable, and those whose own fields are not declared.
fn declarations(variable: &str) -> Option<(Declarations, Declarations)> {
    match variable {
        "request" => Some((REQUEST, OPEN_REQUEST)),
        "namespaceObject" => Some((NAMESPACE, OPEN_NAMESPACE)),
        _ => None,
    }
}

/// Compiles an expression that was accepted when it was stored.
pub(super) fn compile_stored(source: &str) -> Result<Expression, String> {
    let names: Vec<_> = VARIABLES.into_iter().chain(["params", "variables"]).collect();
    Expression::compile(source, &names)
}

/// Returns the variables for a request. `namespace` is the namespace of the object; match conditions have none.
pub(super) fn variables(attributes: &Attributes<'_>, namespace: Option<&Value>) -> Variables {
    let mut variables = Variables::default();
    let request = attributes.to_request();
    let namespace = namespace.map(visible_namespace);
    for (name, value) in [
        ("object", attributes.object),
        ("oldObject", attributes.old),
        ("request", Some(&request)),
        ("namespaceObject", namespace.as_ref()),
    ] {
        let value = value.unwrap_or(&Value::Null);
        variables.set(name, from_json(value), value);
    }
    variables
}

/// Returns the fields of a namespace that expressions see.
fn visible_namespace(namespace: &Value) -> Value {
    let mut metadata = namespace["metadata"].clone();
    if let Value::Object(fields) = &mut metadata {
        fields.retain(|name, _| name != "managedFields" && name != "ownerReferences");
    }
    json!({ "metadata": metadata, "spec": namespace["spec"], "status": namespace["status"] })
}
