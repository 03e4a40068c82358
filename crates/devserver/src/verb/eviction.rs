//! Deletes a pod if disruption budgets allow it: the subresource `eviction`.

use crate::object::{label_selector_matches, metadata};
use crate::registry::Resource;
use crate::storage::{CollectionId, Selection, Span, Write};
use crate::verb::{
    api_response::ApiResponse,
    clock::now,
    cluster::{Cluster, encode},
    delete::remove_with,
    error_response::ErrorResponse,
    request::{Intent, Request},
    update::current,
};
use kube_core::{Status, response::reason};
use kube_informer_wire::status_to_json;
use serde_json::{Value, json};
use std::sync::Arc;

/// Deletes the pod that the path names, unless a disruption budget forbids it.
pub(crate) fn evict(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let eviction = request.object_of("policy/v1", "Eviction")?;
    let options = eviction.get("deleteOptions").cloned().unwrap_or(Value::Null);
    let (_, pod) = current(cluster, request)?;
    let phase = pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default();
    // Pods that are done, or were never placed, are not counted by budgets.
    let is_counted = !matches!(phase, "Succeeded" | "Failed" | "Pending") && !metadata::is_deleting(&pod);
    if is_counted && request.intent("CreateOptions")? == Intent::Real {
        spend_budget(cluster, request, &pod)?;
    }
    remove_with(cluster, request, &options)?;
    Ok(ApiResponse::json(201, status_to_json(&Status { code: 201, ..Status::success() })))
}

/// Takes one disruption from the budget that selects a pod.
fn spend_budget(cluster: &Cluster, request: &Request, pod: &Value) -> Result<(), ErrorResponse> {
    let registry = cluster.registry();
    let Some(resource) = registry.resource("policy", "v1", "poddisruptionbudgets") else { return Ok(()) };
    loop {
        let budgets = budgets_of(cluster, resource, request.namespace.as_deref(), pod);
        let key = match budgets.as_slice() {
            [] => return Ok(()),
            [one] => one,
            [_, _, ..] => {
                let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(ErrorResponse::new(500, reason::INTERNAL_ERROR, message));
            }
        };
        let Some((record, mut budget)) = cluster.read(resource, key) else { continue };
        let allowed = budget.pointer("/status/disruptionsAllowed").and_then(Value::as_i64).unwrap_or(0);
        if allowed < 1 {
            let name = metadata::name(&budget);
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            let why = format!("The disruption budget {name} does not allow more disruptions at the moment");
            return Err(ErrorResponse::new(429, reason::TOO_MANY_REQUESTS, message)
                .with_cause("DisruptionBudget", &why));
        }
        budget["status"]["disruptionsAllowed"] = (allowed - 1).into();
        let disrupted =
            metadata::fields(&mut budget["status"]).entry("disruptedPods").or_insert_with(|| json!({}));
        disrupted[request.name.as_str()] = now().into();
        let write = Write::Replace(record.version(), encode(resource, record.key().clone(), budget));
        if cluster.store.write(&CollectionId::from(resource.storage()), key, write).is_ok() {
            return Ok(());
        }
    }
}

/// Returns the keys of the budgets whose selector matches a pod.
fn budgets_of(
    cluster: &Cluster,
    resource: &Arc<Resource>,
    namespace: Option<&str>,
    pod: &Value,
) -> Vec<String> {
    let selection = Selection::everything(namespace);
    let page = cluster.store.list(&CollectionId::from(resource.storage()), &selection, &Span::default());
    let records = page.map(|page| page.records).unwrap_or_default();
    let keys = records.iter().map(|record| record.key().as_str().to_owned());
    let selects = |key: &String| {
        let found = cluster.read(resource, key);
        found.is_some_and(|(_, budget)| label_selector_matches(budget.pointer("/spec/selector"), pod))
    };
    keys.filter(selects).collect()
}
