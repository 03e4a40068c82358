//! Refuses roles and bindings that grant permissions that their author lacks.

use crate::object::metadata;
use crate::rbac::{Attributes, PolicyRule, ResourceAttributes, uncovered};
use crate::verb::{
    authorization::{authorize, granted, role_rules},
    cluster::Cluster,
    error_response::ErrorResponse,
    request::Request,
};
use serde::Deserialize;
use serde_json::Value;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Checks a role or binding that a user creates or changes.
///
/// # Errors
/// Returns 403 if it grants rules that the user does not have, unless the user is allowed to `escalate` roles
/// or to `bind` this role.
pub(crate) fn check(cluster: &Cluster, request: &Request, object: &Value) -> Result<(), ErrorResponse> {
    let user = &request.user;
    let resource = &request.resource;
    if user.is_master() || resource.group != GROUP {
        return Ok(());
    }
    let may = |verb: &str, plural: &str, name: &str| {
        let attributes = ResourceAttributes {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            resource: plural.to_owned(),
            namespace: request.namespace.clone().unwrap_or_default(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        };
        authorize(cluster, user, &Attributes::Resource(attributes)).is_allowed
    };
    let name = metadata::name(object);
    let rules = match resource.plural.as_str() {
        "roles" | "clusterroles" if may("escalate", &resource.plural, name) => return Ok(()),
        "roles" | "clusterroles" => {
            Vec::<PolicyRule>::deserialize(object.get("rules").unwrap_or(&Value::Null)).unwrap_or_default()
        }
        _ => {
            let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let plural = if text("/roleRef/kind") == "Role" { "roles" } else { "clusterroles" };
            if may("bind", plural, text("/roleRef/name")) {
                return Ok(());
            }
            let mut placed = object.clone();
            let namespace = request.namespace.clone().unwrap_or_default();
            metadata::of(&mut placed).insert("namespace".to_owned(), namespace.into());
            role_rules(cluster, &placed)
                .map_err(|why| ErrorResponse::new(404, kube_core::response::reason::NOT_FOUND, &why))?
        }
    };
    let granted = granted(cluster, user, request.namespace.as_deref().unwrap_or_default());
    let held: Vec<_> = granted.rules.into_iter().map(|one| one.rule).collect();
    let mut missing: Vec<_> = uncovered(&held, &rules).iter().map(ToString::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    missing.sort();
    let groups: Vec<_> = user.groups().iter().map(|group| format!("{group:?}")).collect();
    let why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name(),
        groups.join(" "),
        missing.join("\n")
    );
    Err(ErrorResponse::forbidden(resource, name, &why))
}
