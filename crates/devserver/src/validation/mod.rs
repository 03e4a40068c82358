//! The rules of the built-in kinds on the values of their fields, as kube-apiserver has them.
//!
//! A rule reads a JSON value at a path, and adds an error if the value is not allowed. Objects have their defaults already, and the types of
//! their fields are those of the schema.

mod field;

mod format;

mod selector;

mod resources;

mod security;

mod scheduling;

mod claim;

mod volume;

mod container;

mod pod;

mod workload;

mod cron;

mod job;

mod service;

mod network;

mod autoscaler;

mod access;

mod data;

mod quota;

use crate::invalid::FieldError;
use crate::registry::Resource;
use access::Scope;
use field::{Errors, Field};
use serde_json::Value;

/// Returns the rules that an object of a built-in kind breaks; `old` is the state before an update.
pub(crate) fn errors(resource: &Resource, old: Option<&Value>, object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if resource.is_custom() {
        return errors.into_inner();
    }
    let (new, old) = (Field::root(object), old.map(Field::root));
    let (e, old) = (&mut errors, old.as_ref());
    match resource.storage() {
        ("apps", _) => check_workload(e, resource, &new, old),
        ("rbac.authorization.k8s.io", "roles") => access::check_role(e, &new, Scope::Namespace),
        ("rbac.authorization.k8s.io", "clusterroles") => access::check_role(e, &new, Scope::Cluster),
        ("rbac.authorization.k8s.io", "rolebindings") => access::check_binding(e, &new, Scope::Namespace),
        ("rbac.authorization.k8s.io", "clusterrolebindings") => {
            access::check_binding(e, &new, Scope::Cluster)
        }
        ("coordination.k8s.io", "leases") => access::check_lease(e, &new),
        ("policy", "poddisruptionbudgets") => access::check_budget(e, &new),
        ("autoscaling", "horizontalpodautoscalers") => autoscaler::check(e, &new),
        ("networking.k8s.io", "networkpolicies") => network::check_policy(e, &new),
        ("networking.k8s.io", "ingresses") => {
            network::check_ingress(e, &new);
            if old.is_none() {
                network::check_new_ingress(e, &new);
            }
        }
        ("batch", "cronjobs") => job::check_cron(e, &new, old),
        ("batch", "jobs") => {
            job::check(e, &new);
            if let Some(old) = old {
                job::check_update(e, old, &new);
            }
        }
        ("", _) => check_core(e, resource, &new, old),
        _ => {}
    }
    errors.into_inner()
}

fn check_workload(e: &mut Errors, resource: &Resource, new: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    match resource.plural.as_str() {
        "deployments" => workload::check_deployment(e, new),
        "replicasets" => workload::check_replica_set(e, new),
        "statefulsets" => workload::check_stateful_set(e, new, old),
        "daemonsets" => workload::check_daemon_set(e, new),
        _ => {}
    }
}

fn check_core(e: &mut Errors, resource: &Resource, new: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    match resource.plural.as_str() {
        "pods" => {
            pod::check(e, new);
            match old {
                None => pod::check_new(e, new),
                Some(old) => pod::check_update(e, old, new),
            }
        }
        "services" => service::check(e, new, old),
        "configmaps" => data::check_config_map(e, new),
        "secrets" => data::check_secret(e, new),
        "persistentvolumeclaims" => {
            let spec = new.get("spec");
            claim::check_spec(e, &spec);
            if let Some(old) = old {
                claim::check_update(e, old, new);
            }
        }
        "namespaces" => {
            let spec = new.get("spec");
            spec.get("finalizers").items().for_each(|one| {
                e.qualified_name(&one);
                if !one.text().contains('/')
                    && !["kubernetes", "orphan", "foregroundDeletion"].contains(&one.text())
                {
                    e.invalid(&one, "name is neither a standard finalizer name nor is it fully qualified");
                }
            });
        }
        "resourcequotas" => {
            quota::check_quota(e, new);
            if let Some(old) = old {
                quota::check_quota_update(e, old, new);
            }
        }
        "limitranges" => quota::check_limits(e, new),
        _ => {}
    }
}
