//! Resource quotas and limit ranges.

use crate::validation::field::{Errors, Field};
use crate::validation::resources::{self, ResourceUser};
use std::collections::{BTreeMap, BTreeSet};

const POD_SCOPES: [&str; 5] =
    ["Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"];
const COMPUTE: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// Checks a resource quota.
pub(super) fn check_quota(e: &mut Errors, quota: &Field<'_, '_>) {
    let spec = quota.get("spec");
    for (name, quantity) in spec.get("hard").entries() {
        resources::check_name(e, &quantity, name, ResourceUser::Quota);
        resources::check_quantity(e, &quantity, name);
    }
    let scopes = spec.get("scopes");
    let mut names = BTreeSet::new();
    for scope in scopes.items() {
        check_scope(e, &spec, &scope);
        names.insert(scope.text());
    }
    check_conflicts(e, &scopes, &names);
    let selector = spec.get("scopeSelector");
    let expressions = selector.get("matchExpressions");
    let mut names = BTreeSet::new();
    for one in expressions.items() {
        let (scope, operator, values) = (one.get("scopeName"), one.get("operator"), one.get("values"));
        check_scope(e, &spec, &scope);
        names.insert(scope.text());
        let is_plain =
            !matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass") && is_scope(scope.text());
        if is_plain && operator.text() != "Exists" {
            e.invalid(&operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity");
        }
        match operator.text() {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let detail =
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                    e.required(&values, detail);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let detail =
                        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                    e.invalid(&values, detail);
                }
            }
            _ => e.invalid(&operator, "not a valid selector operator"),
        }
    }
    check_conflicts(e, &expressions, &names);
}

fn is_scope(name: &str) -> bool {
    POD_SCOPES.contains(&name) || matches!(name, "BestEffort" | "VolumeAttributesClass")
}

fn check_scope(e: &mut Errors, spec: &Field<'_, '_>, scope: &Field<'_, '_>) {
    let name = scope.text();
    if !is_scope(name) {
        return e.invalid(scope, "unsupported scope");
    }
    for (resource, _) in spec.get("hard").entries() {
        let is_covered = match name {
            "BestEffort" => resource == "pods",
            "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
            _ => resource == "pods" || COMPUTE.contains(&resource),
        };
        if !is_covered && resources::is_quota(resource) {
            e.invalid(scope, "unsupported scope applied to resource");
        }
    }
}

fn check_conflicts(e: &mut Errors, field: &Field<'_, '_>, scopes: &BTreeSet<&str>) {
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            e.invalid(field, "conflicting scopes");
        }
    }
}

/// Checks what an update of a quota changes.
pub(super) fn check_quota_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old, new) = (old.get("spec"), new.get("spec"));
    let (old, new) = (old.get("scopes"), new.get("scopes"));
    let names = |scopes: &Field<'_, '_>| -> BTreeSet<String> {
        scopes.items().map(|scope| scope.text().to_owned()).collect()
    };
    if names(&old) != names(&new) {
        e.invalid(&new, "field is immutable");
    }
}

/// Checks a limit range.
pub(super) fn check_limits(e: &mut Errors, object: &Field<'_, '_>) {
    let spec = object.get("spec");
    let limits = spec.get("limits");
    let mut kinds = BTreeSet::new();
    for limit in limits.items() {
        let kind = limit.get("type");
        let found = e.len();
        e.qualified_name(&kind);
        let is_standard = matches!(kind.text(), "Pod" | "Container" | "PersistentVolumeClaim");
        if e.len() == found && !kind.text().contains('/') && !is_standard {
            e.invalid(&kind, "must be a standard limit type or fully qualified");
        }
        if !kinds.insert(kind.text()) {
            e.duplicate(&kind);
        }
        check_limit(e, &limit);
    }
}

fn check_limit(e: &mut Errors, limit: &Field<'_, '_>) {
    let kind = limit.get("type").text();
    let user = if matches!(kind, "Pod" | "Container") { ResourceUser::Container } else { ResourceUser::Any };
    let mut amounts: BTreeMap<&str, BTreeMap<&str, i128>> = BTreeMap::new();
    for part in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let field = limit.get(part);
        if kind == "Pod" && part.starts_with("default") {
            if !field.is_empty() {
                e.forbidden(&field, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for (name, quantity) in field.entries() {
            resources::check_name(e, &quantity, name, user);
            amounts.entry(name).or_default().insert(part, resources::amount(&quantity));
        }
    }
    let (least, most) = (limit.get("min"), limit.get("max"));
    if kind == "PersistentVolumeClaim" && !least.key("storage").is_set() && !most.key("storage").is_set() {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        e.required(&limit.get("limits"), detail);
    }
    for (name, amounts) in amounts {
        check_order(e, limit, name, &amounts);
    }
}

/// Checks that limits, defaults and requests do not contradict each other.
fn check_order(e: &mut Errors, limit: &Field<'_, '_>, name: &str, amounts: &BTreeMap<&str, i128>) {
    let pairs = [
        ("min", "max"),
        ("min", "defaultRequest"),
        ("defaultRequest", "max"),
        ("defaultRequest", "default"),
        ("min", "default"),
        ("default", "max"),
    ];
    for (less, more) in pairs {
        if let (Some(a), Some(b)) = (amounts.get(less), amounts.get(more))
            && a > b
        {
            let detail = format!("{less} value of {name} is greater than {more} value");
            e.invalid(limit, &detail);
        }
    }
    let (default, request) = (amounts.get("default"), amounts.get("defaultRequest"));
    if !resources::may_overcommit(name) && default.is_some() && request.is_some() && default != request {
        e.invalid(limit, &format!("default value must equal to defaultRequest value in {name}"));
    }
    let Some(ratio) = amounts.get("maxLimitRequestRatio") else { return };
    if *ratio < resources::ONE {
        e.invalid(limit, "ratio is less than 1");
    }
    if let (Some(least), Some(most)) = (amounts.get("min"), amounts.get("max")) {
        // As in Go, a division by zero is infinite, or no number.
        #[allow(clippy::cast_precision_loss, reason = "the ratio is that of floating point numbers in Go")]
        let (ratio, bound) = (*ratio as f64 / resources::ONE as f64, *most as f64 / *least as f64);
        if ratio > bound {
            e.invalid(limit, "ratio is greater than max/min");
        }
    }
}
