//! Roles, bindings of roles, leases and disruption budgets.

use crate::validation::field::{Errors, Field};
use crate::validation::selector;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Whether an object is in a namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Namespace,
    Cluster,
}

/// Checks a role.
pub(super) fn check_role(e: &mut Errors, role: &Field<'_, '_>, scope: Scope) {
    for rule in role.get("rules").items() {
        let (verbs, urls) = (rule.get("verbs"), rule.get("nonResourceURLs"));
        if verbs.is_empty() {
            e.required(&verbs, "verbs must contain at least one value");
        }
        let (groups, resources) = (rule.get("apiGroups"), rule.get("resources"));
        if !urls.is_empty() {
            if scope == Scope::Namespace {
                e.invalid(&urls, "namespaced rules cannot apply to non-resource URLs");
            }
            if !groups.is_empty() || !resources.is_empty() || !rule.get("resourceNames").is_empty() {
                e.invalid(&urls, "rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if groups.is_empty() {
            e.required(&groups, "resource rules must supply at least one api group");
        }
        if resources.is_empty() {
            e.required(&resources, "resource rules must supply at least one resource");
        }
    }
    let aggregation = role.get("aggregationRule");
    let selectors = aggregation.get("clusterRoleSelectors");
    if aggregation.is_set() && selectors.is_empty() {
        e.required(&selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    selectors.items().for_each(|one| selector::check(e, &one));
}

/// Checks a binding of a role.
pub(super) fn check_binding(e: &mut Errors, binding: &Field<'_, '_>, scope: Scope) {
    let reference = binding.get("roleRef");
    e.known(&reference.get("apiGroup"), &[RBAC]);
    let kinds: &[&str] = match scope {
        Scope::Namespace => &["Role", "ClusterRole"],
        Scope::Cluster => &["ClusterRole"],
    };
    e.known(&reference.get("kind"), kinds);
    if e.present(&reference.get("name")) {
        e.path_segment(&reference.get("name"));
    }
    for subject in binding.get("subjects").items() {
        let (kind, name, group) = (subject.get("kind"), subject.get("name"), subject.get("apiGroup"));
        let has_name = e.present(&name);
        match kind.text() {
            "ServiceAccount" => {
                if has_name {
                    e.subdomain(&name);
                }
                if !group.is_empty() {
                    e.unsupported(&group, &[""]);
                }
                if scope == Scope::Cluster {
                    e.present(&subject.get("namespace"));
                }
            }
            "User" | "Group" => e.known(&group, &[RBAC]),
            _ => e.unsupported(&kind, &["ServiceAccount", "User", "Group"]),
        }
    }
}

/// Checks a lease.
pub(super) fn check_lease(e: &mut Errors, lease: &Field<'_, '_>) {
    let spec = lease.get("spec");
    let duration = spec.get("leaseDurationSeconds");
    if duration.number().is_some_and(|seconds| seconds <= 0) {
        e.invalid(&duration, "must be greater than 0");
    }
    e.non_negative(&spec.get("leaseTransitions"));
    let strategy = spec.get("strategy");
    if strategy.is_set() {
        if strategy.text().contains('/') {
            e.qualified_name(&strategy);
        } else {
            e.known(&strategy, &["OldestEmulationVersion"]);
        }
    }
    let holder = spec.get("preferredHolder");
    if !holder.is_empty() && strategy.is_empty() {
        e.forbidden(&holder, "may only be specified if `strategy` is defined");
    }
}

/// Checks a disruption budget.
pub(super) fn check_budget(e: &mut Errors, budget: &Field<'_, '_>) {
    let spec = budget.get("spec");
    let (least, most) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if least.is_set() && most.is_set() {
        e.invalid(&spec, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in [&least, &most] {
        e.number_or_percent(field);
        e.at_most_all(field);
    }
    selector::check(e, &spec.get("selector"));
    e.optional_one_of(&spec.get("unhealthyPodEvictionPolicy"), &["AlwaysAllow", "IfHealthyBudget"]);
}
