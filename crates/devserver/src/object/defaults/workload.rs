//! Defaults of controllers of pods that depend on other fields.

use crate::object::defaults::edit::{is_empty, is_unset, items, made, part, set, text};
use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// Fills in the defaults of a type.
pub(super) fn fill(name: &str, fields: &mut Fields) {
    match name {
        "apps.v1.DeploymentSpec" => {
            rolling(made(fields, "strategy"), &json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
        }
        "apps.v1.DaemonSetSpec" => {
            rolling(made(fields, "updateStrategy"), &json!({"maxUnavailable": 1, "maxSurge": 0}));
        }
        "apps.v1.StatefulSetSpec" => {
            stateful(made(fields, "updateStrategy"));
            for claim in items(fields, "volumeClaimTemplates") {
                claim.insert("apiVersion".to_owned(), "v1".into());
                claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
            }
        }
        // The template of a cron job is not filled in; the job that is made from it is.
        "batch.v1.Job" => {
            job(made(fields, "spec"));
            labels_of_template(fields);
        }
        "core.v1.ReplicationController" => replication_controller(fields),
        "autoscaling.v2.HorizontalPodAutoscalerSpec" => autoscaler(fields),
        _ => {}
    }
}

/// Fills in how pods are replaced, for deployments and daemon sets.
fn rolling(strategy: &mut Fields, defaults: &Value) {
    set(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let update = made(strategy, "rollingUpdate");
        for (name, value) in defaults.as_object().into_iter().flatten() {
            set(update, name, value.clone());
        }
    }
}

fn stateful(strategy: &mut Fields) {
    if is_unset(strategy, "type") {
        set(strategy, "type", "RollingUpdate");
        made(strategy, "rollingUpdate");
    }
    if text(strategy, "type") == "RollingUpdate"
        && let Some(update) = part(strategy, "rollingUpdate")
    {
        set(update, "partition", 0);
    }
}

fn job(spec: &mut Fields) {
    if is_unset(spec, "completions") && is_unset(spec, "parallelism") {
        set(spec, "completions", 1);
    }
    set(spec, "parallelism", 1);
    let limit = if is_unset(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
    set(spec, "backoffLimit", limit);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    let policy = if is_unset(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set(spec, "podReplacementPolicy", policy);
    set(spec, "manualSelector", false);
}

/// Sets the labels of an object without labels to those of its pod template.
fn labels_of_template(fields: &mut Fields) {
    let Some(labels) = template_labels(fields) else { return };
    let metadata = made(fields, "metadata");
    if is_empty(metadata, "labels") {
        metadata.insert("labels".to_owned(), labels);
    }
}

fn replication_controller(fields: &mut Fields) {
    let Some(labels) = template_labels(fields) else { return };
    let spec = made(fields, "spec");
    if is_empty(spec, "selector") {
        spec.insert("selector".to_owned(), labels);
    }
    labels_of_template(fields);
}

fn template_labels(fields: &Fields) -> Option<Value> {
    let labels = fields.get("spec")?.pointer("/template/metadata/labels")?;
    labels.as_object().filter(|labels| !labels.is_empty())?;
    Some(labels.clone())
}

fn autoscaler(spec: &mut Fields) {
    if is_empty(spec, "metrics") {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    let Some(behavior) = part(spec, "behavior") else { return };
    let policy = |kind: &str, value: u32| json!({"type": kind, "value": value, "periodSeconds": 15});
    let up = made(behavior, "scaleUp");
    set(up, "stabilizationWindowSeconds", 0);
    set(up, "selectPolicy", "Max");
    set(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    let down = made(behavior, "scaleDown");
    set(down, "selectPolicy", "Max");
    set(down, "policies", json!([policy("Percent", 100)]));
}
