//! Names and quantities of resources.

use crate::object::quantity_value;
use crate::validation::field::{Errors, Field};
use serde_json::Value;
use std::collections::BTreeSet;

/// The smallest unit of quantities in one.
pub(super) const ONE: i128 = 1_000_000_000;

/// Returns the value of a quantity in billionths; 0 if there is none.
pub(super) fn amount(field: &Field<'_, '_>) -> i128 {
    quantity(field).unwrap_or_default()
}

/// Returns the value of a quantity in billionths, if there is one.
pub(super) fn quantity(field: &Field<'_, '_>) -> Option<i128> {
    match field.value() {
        Value::String(text) => quantity_value(text),
        Value::Number(number) => quantity_value(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Resources that every cluster has, with a name without prefix.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "requests.storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that a quota can limit, with a name without prefix.
const QUOTA: [&str; 19] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are counted.
const INTEGER: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that a container can have, with a name without prefix.
const CONTAINER: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The object that names a resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceUser {
    Container,
    Pod,
    Quota,
    Any,
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Returns whether more of a resource can be limited than is requested.
pub(super) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && crate::object::broken_key(&format!("requests.{name}")).is_empty()
}

/// Returns whether this is a resource of Kubernetes that a quota can limit.
pub(super) fn is_quota(name: &str) -> bool {
    QUOTA.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Checks the name of a resource, which is the key of a map or a text.
pub(super) fn check_name(e: &mut Errors, field: &Field<'_, '_>, name: &str, user: ResourceUser) {
    let broken = crate::object::broken_key(name);
    if !broken.is_empty() {
        return broken.iter().for_each(|detail| name_error(e, field, name, detail));
    }
    let has_prefix = name.contains('/');
    let is_quota_huge_page = name.starts_with("requests.hugepages-");
    let is_standard = || STANDARD.contains(&name) || is_huge_page(name) || is_quota_huge_page;
    if !has_prefix && !is_standard() {
        return name_error(e, field, name, "must be a standard resource type or fully qualified");
    }
    let detail = match user {
        ResourceUser::Container if !has_prefix && !CONTAINER.contains(&name) && !is_huge_page(name) => {
            "must be a standard resource for containers"
        }
        ResourceUser::Container if has_prefix && !is_native(name) && !is_extended(name) => {
            "doesn't follow extended resource name standard"
        }
        ResourceUser::Pod if !["cpu", "memory"].contains(&name) && !is_huge_page(name) => {
            "must be cpu, memory or hugepages-*"
        }
        ResourceUser::Quota if !has_prefix && !is_quota(name) => "must be a standard resource for quota",
        ResourceUser::Container | ResourceUser::Pod | ResourceUser::Quota | ResourceUser::Any => return,
    };
    name_error(e, field, name, detail);
}

fn name_error(e: &mut Errors, field: &Field<'_, '_>, name: &str, detail: &str) {
    e.push(crate::invalid::FieldError::invalid(&field.to_string(), &name.into(), detail));
}

/// Checks the quantity of a resource.
pub(super) fn check_quantity(e: &mut Errors, field: &Field<'_, '_>, name: &str) {
    let value = amount(field);
    if value < 0 {
        e.invalid(field, "must be greater than or equal to 0");
    }
    let is_integer = INTEGER.contains(&name) || is_extended(name);
    let thousandths = |value: i128| (value + ONE / 1000 - 1).div_euclid(ONE / 1000);
    if is_integer && thousandths(value) % 1000 != 0 {
        e.invalid(field, "must be an integer");
    }
}

/// Requires a quantity of at least 0 if there is one.
pub(super) fn check_not_negative(e: &mut Errors, field: &Field<'_, '_>) {
    if amount(field) < 0 {
        e.invalid(field, "must be greater than or equal to 0");
    }
}

/// Checks the resources of a container or a pod; the claims have names of the pod.
pub(super) fn check(e: &mut Errors, resources: &Field<'_, '_>, user: ResourceUser, claims: &[&str]) {
    if !resources.is_set() {
        return;
    }
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    let (mut has_huge_pages, mut has_compute) = (false, false);
    for (name, quantity) in limits.entries().chain(requests.entries()) {
        check_name(e, &quantity, name, user);
        check_quantity(e, &quantity, name);
        has_compute |= matches!(name, "cpu" | "memory");
        if is_huge_page(name) {
            has_huge_pages = true;
            let page = quantity_value(name.trim_start_matches("hugepages-")).unwrap_or_default();
            if page <= 0 || amount(&quantity) % page != 0 {
                e.invalid(&quantity, &format!("is not positive integer multiple of {name}"));
            }
        }
    }
    for (name, request) in requests.entries() {
        let limit = limits.key(name);
        if !limit.is_set() {
            if !may_overcommit(name) {
                e.required(&limits, "Limit must be set for non overcommitable resources");
            }
        } else if amount(&request) != amount(&limit) && !may_overcommit(name) {
            e.invalid(&request, &format!("must be equal to {name} limit of {}", limit.text()));
        } else if amount(&request) > amount(&limit) {
            e.invalid(&request, &format!("must be less than or equal to {name} limit of {}", limit.text()));
        }
    }
    if has_huge_pages && !has_compute {
        e.forbidden(resources, "HugePages require cpu or memory");
    }
    check_claims(e, &resources.get("claims"), claims);
}

fn check_claims(e: &mut Errors, claims: &Field<'_, '_>, known: &[&str]) {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.get("name"), claim.get("request"));
        if name.is_empty() {
            e.required(&claim, "");
            continue;
        }
        e.optional_label(&request);
        let (name, request) = (name.text(), request.text());
        let is_repeated = seen.contains(&(name, request))
            || seen.contains(&(name, ""))
            || request.is_empty() && seen.iter().any(|(known, _)| *known == name);
        if is_repeated {
            e.duplicate(&claim);
        }
        seen.insert((name, request));
        if !known.contains(&name) {
            e.not_found(&claim);
        }
    }
}
