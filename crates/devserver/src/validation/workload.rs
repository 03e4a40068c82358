//! Deployments, replica sets, stateful sets and daemon sets.

use crate::validation::field::{Errors, Field};
use crate::validation::format::number_or_percent;
use crate::validation::{claim, pod, selector};
use serde_json::Value;

/// Checks a deployment.
pub(super) fn check_deployment(e: &mut Errors, object: &Field<'_, '_>) {
    let spec = object.get("spec");
    check_replicated(e, &spec, "deployment");
    let strategy = spec.get("strategy");
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                e.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            e.number_or_percent(&unavailable);
            e.number_or_percent(&surge);
            if number_or_percent(&unavailable) == 0 && number_or_percent(&surge) == 0 {
                e.invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
            }
            e.at_most_all(&unavailable);
        }
        _ => e.unsupported(&strategy.get("type"), &["Recreate", "RollingUpdate"]),
    }
    e.non_negative(&spec.get("revisionHistoryLimit"));
    let deadline = spec.get("progressDeadlineSeconds");
    e.non_negative(&deadline);
    let ready = spec.get("minReadySeconds").number_or_zero();
    if deadline.number().is_some_and(|seconds| seconds <= ready) {
        e.invalid(&deadline, "must be greater than minReadySeconds");
    }
}

/// Checks a replica set.
pub(super) fn check_replica_set(e: &mut Errors, object: &Field<'_, '_>) {
    check_replicated(e, &object.get("spec"), "deployment");
}

fn check_replicated(e: &mut Errors, spec: &Field<'_, '_>, kind: &str) {
    e.non_negative(&spec.get("replicas"));
    e.non_negative(&spec.get("minReadySeconds"));
    selector::check_controller(e, spec, kind);
    let template = spec.get("template");
    pod::check_template(e, &template);
    check_template_of_controller(e, &template);
}

/// Pods of controllers are always restarted, and have no deadline.
fn check_template_of_controller(e: &mut Errors, template: &Field<'_, '_>) {
    let spec = template.get("spec");
    let (policy, deadline) = (spec.get("restartPolicy"), spec.get("activeDeadlineSeconds"));
    e.known(&policy, &["Always"]);
    if deadline.is_set() {
        e.forbidden(&deadline, "activeDeadlineSeconds in ReplicaSet is not Supported");
    }
}

/// Checks a daemon set.
pub(super) fn check_daemon_set(e: &mut Errors, object: &Field<'_, '_>) {
    let spec = object.get("spec");
    selector::check_controller(e, &spec, "daemonset");
    let template = spec.get("template");
    pod::check_template(e, &template);
    check_template_of_controller(e, &template);
    e.non_negative(&spec.get("minReadySeconds"));
    e.non_negative(&spec.get("revisionHistoryLimit"));
    let strategy = spec.get("updateStrategy");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.get("rollingUpdate");
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            for field in [&unavailable, &surge] {
                e.number_or_percent(field);
                e.at_most_all(field);
            }
            match (number_or_percent(&unavailable) != 0, number_or_percent(&surge) != 0) {
                (true, true) => e.invalid(&surge, "may not be set when maxUnavailable is non-zero"),
                (false, false) => e.required(&unavailable, "cannot be 0 when maxSurge is 0"),
                (true, false) | (false, true) => {}
            }
        }
        _ => e.unsupported(&strategy.get("type"), &["RollingUpdate", "OnDelete"]),
    }
}

/// Checks a stateful set; the claims in it cannot change, so that they are checked only in a new one.
pub(super) fn check_stateful_set(e: &mut Errors, object: &Field<'_, '_>, old: Option<&Field<'_, '_>>) {
    let spec = object.get("spec");
    e.one_of(&spec.get("podManagementPolicy"), &["OrderedReady", "Parallel"]);
    let strategy = spec.get("updateStrategy");
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {
            if rolling.is_set() {
                e.invalid(&rolling, "only allowed for updateStrategy 'RollingUpdate'");
            }
        }
        "RollingUpdate" => e.non_negative(&rolling.get("partition")),
        _ => e.invalid(&strategy, "must be 'RollingUpdate' or 'OnDelete'"),
    }
    let retention = spec.get("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        if retention.is_set() {
            e.known(&retention.get(field), &["Retain", "Delete"]);
        }
    }
    let claims = spec.get("volumeClaimTemplates");
    if old.is_none() {
        claims.items().for_each(|claim| claim::check_spec(e, &claim.get("spec")));
        e.optional_label(&spec.get("serviceName"));
    }
    e.non_negative(&spec.get("replicas"));
    e.non_negative(&spec.get("minReadySeconds"));
    e.non_negative(&spec.get("ordinals").get("start"));
    selector::check_controller(e, &spec, "statefulset");
    let template = spec.get("template");
    let of_pods = template.get("spec");
    let completed = with_claims(of_pods.value(), claims.value());
    pod::check_template_with(e, &template, &of_pods.with(completed.as_ref().unwrap_or(of_pods.value())));
    check_template_of_controller(e, &template);
}

/// Returns the spec of the pods with a volume for each claim, and without names; `None` if nothing differs.
fn with_claims(spec: &Value, claims: &Value) -> Option<Value> {
    let claims = claims.as_array().map(Vec::as_slice).unwrap_or_default();
    let has_names = spec.get("hostname").is_some() || spec.get("subdomain").is_some();
    if claims.is_empty() && !has_names {
        return None;
    }
    let mut spec = spec.clone();
    let fields = spec.as_object_mut()?;
    fields.remove("hostname");
    fields.remove("subdomain");
    let name = |claim: &Value| claim.pointer("/metadata/name").cloned().unwrap_or_else(|| "".into());
    let mut volumes: Vec<Value> = Vec::new();
    for claim in claims {
        let name = name(claim);
        if volumes.iter().all(|volume| volume["name"] != name) {
            volumes.push(serde_json::json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        }
    }
    let own = fields.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let is_own = |volume: &&Value| claims.iter().all(|claim| Some(&name(claim)) != volume.get("name"));
    volumes.extend(own.filter(is_own).cloned().collect::<Vec<_>>());
    fields.insert("volumes".to_owned(), volumes.into());
    Some(spec)
}
