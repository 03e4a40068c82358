//! Deletes one object, or marks it until its finalizers are done.

use crate::admission::Operation;
use crate::invalid::FieldError;
use crate::object::{
    deletion::{self, Decision, Policy, Preconditions, Terms},
    metadata,
};
use crate::registry::Resource;
use crate::storage::{Record, Write, WriteError};
use crate::verb::{
    admission::Admission,
    api_response::ApiResponse,
    clock::now,
    cluster::{Cluster, Controllers, encode},
    conversion,
    error_response::{ErrorResponse, no_details},
    get::object as answer,
    object_part::ObjectPart,
    request::{Intent, Request},
    side_effects::{self, holds_others},
    update::{current, current_converted},
};
use kube_core::{Status, response::StatusDetails};
use kube_informer_wire::status_to_json;
use serde_json::Value;
use std::sync::Arc;

/// Deletes the object that the path names.
pub(crate) async fn delete(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let options = options(request)?;
    review(cluster, request, &options).await?;
    match remove(cluster, request, &options)? {
        Deletion::Removed(record) if !returns_object(&request.resource) => {
            Ok(success(&request.resource, &record))
        }
        Deletion::Removed(record) | Deletion::Waiting(record) => {
            let record = conversion::records(cluster, &request.resource, vec![record]).await?.remove(0);
            Ok(answer(200, request, &record))
        }
    }
}

/// Calls the admission webhooks for the deletion of the object that a request names.
pub(crate) async fn review(
    cluster: &Cluster,
    request: &Request,
    options: &Options,
) -> Result<(), ErrorResponse> {
    let (operation, part, intent) = (Operation::Delete, ObjectPart::Whole, options.intent);
    let admission = Admission { cluster, request, operation, part, options: OPTIONS, intent };
    match admission.is_configured() {
        true => admission.delete(&current_converted(cluster, request).await?.1).await,
        false => Ok(()),
    }
}

/// The result of a deletion.
pub(crate) enum Deletion {
    /// The object was removed; this is its last state.
    Removed(Record),
    /// The object waits for its finalizers.
    Waiting(Record),
}

impl Deletion {
    pub(crate) fn into_record(self) -> Record {
        match self {
            Self::Removed(record) | Self::Waiting(record) => record,
        }
    }
}

const OPTIONS: &str = "DeleteOptions";
const POLICIES: [&str; 3] = ["Foreground", "Background", "Orphan"];

/// The options of a deletion.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    demands: Preconditions,
    intent: Intent,
    /// The propagation policy; `None` for the default of the kind.
    policy: Option<Policy>,
    /// The grace period of a pod in seconds; `None` for that of the pod.
    grace: Option<i64>,
}

/// The options in the body or the query string.
pub(crate) fn options(request: &Request) -> Result<Options, ErrorResponse> {
    match request.body.is_empty() {
        true => read_options(request, &Value::Null),
        // Options carry the version of the group of the object, or v1; neither makes a difference.
        false => read_options(request, &request.value()?),
    }
}

fn read_options(request: &Request, options: &Value) -> Result<Options, ErrorResponse> {
    let demand =
        |field: &str| options.pointer(&format!("/preconditions/{field}"))?.as_str().map(str::to_owned);
    let said = options.get("dryRun").and_then(Value::as_array).into_iter().flatten();
    let intent = match Intent::of(OPTIONS, said.filter_map(Value::as_str))? {
        Intent::DryRun => Intent::DryRun,
        Intent::Real => request.intent(OPTIONS)?,
    };
    let policy = options.get("propagationPolicy").and_then(Value::as_str).map(str::to_owned);
    let policy = match policy.or_else(|| request.parameter("propagationPolicy")).as_deref() {
        None => match options.get("orphanDependents").and_then(Value::as_bool) {
            None => None,
            Some(true) => Some(Policy::Orphan),
            Some(false) => Some(Policy::Background),
        },
        Some("Background") => Some(Policy::Background),
        Some("Foreground") => Some(Policy::Foreground),
        Some("Orphan") => Some(Policy::Orphan),
        Some(other) => {
            let error = FieldError::not_supported("propagationPolicy", other, &POLICIES);
            return Err(ErrorResponse::options(OPTIONS, &error));
        }
    };
    let grace = options.get("gracePeriodSeconds").and_then(Value::as_i64);
    let grace = grace.or_else(|| request.parameter("gracePeriodSeconds")?.parse().ok());
    let demands = Preconditions { uid: demand("uid"), resource_version: demand("resourceVersion") };
    Ok(Options { demands, intent, policy, grace })
}

/// Deletes the object that a request names, with options that are part of its body.
pub(crate) fn remove_with(
    cluster: &Cluster,
    request: &Request,
    options: &Value,
) -> Result<Deletion, ErrorResponse> {
    remove(cluster, request, &read_options(request, options)?)
}

/// Deletes the object that a request names.
pub(crate) fn remove(
    cluster: &Cluster,
    request: &Request,
    options: &Options,
) -> Result<Deletion, ErrorResponse> {
    let (resource, key) = (&request.resource, request.key());
    loop {
        let (record, object) = current(cluster, request)?;
        let terms = terms(resource, &object, options);
        let decision = deletion::decide(&object, &options.demands, &terms, &now());
        let decision = decision
            .map_err(|mismatch| ErrorResponse::failed_precondition(resource, &request.name, &mismatch))?;
        let write = match decision {
            Decision::Remove if options.intent == Intent::DryRun => return Ok(Deletion::Removed(record)),
            _ if options.intent == Intent::DryRun => return Ok(Deletion::Waiting(record)),
            _ if holds_others(resource) && metadata::is_deleting(&object) => {
                side_effects::empty(cluster, resource, &object);
                return Ok(Deletion::Waiting(record));
            }
            _ if holds_others(resource) => Write::Replace(
                record.version(),
                encode(resource, record.key().clone(), side_effects::terminating(resource, &object)),
            ),
            Decision::AlreadyDeleting => return Ok(Deletion::Waiting(record)),
            Decision::Remove => Write::Remove(record.version()),
            Decision::MarkDeleting(marked) => {
                Write::Replace(record.version(), encode(resource, record.key().clone(), marked))
            }
        };
        let is_removal = matches!(write, Write::Remove(_));
        match cluster.store.write(&request.collection(), &key, write) {
            Ok(record) if is_removal => {
                side_effects::after_removing(cluster, resource, &object);
                if !resource.is("", "pods") {
                    return Ok(Deletion::Removed(record));
                }
                let last =
                    encode(resource, record.key().clone(), deletion::last_state(&object, &terms, &now()));
                return Ok(Deletion::Removed(Record::new(Arc::from(last), record.version())));
            }
            Ok(record) => {
                after_marking(cluster, request, &object, &terms)?;
                return Ok(Deletion::Waiting(record));
            }
            Err(WriteError::Missing | WriteError::Exists) => {
                return Err(ErrorResponse::not_found(resource, &request.name));
            }
            Err(WriteError::Changed) => {}
        }
    }
}

/// Processes the consequences of a deletion mark.
fn after_marking(
    cluster: &Cluster,
    request: &Request,
    object: &Value,
    terms: &Terms,
) -> Result<(), ErrorResponse> {
    if holds_others(&request.resource) {
        side_effects::empty(cluster, &request.resource, object);
        return Ok(());
    }
    side_effects::continue_deletion(cluster, &request.resource, &request.key());
    if terms.grace > 0 && cluster.controllers == Controllers::BuiltIn {
        // There is no kubelet that would end the pod.
        let ended = Options { grace: Some(0), ..Options::plain() };
        match remove(cluster, request, &ended) {
            Err(error) if error.status().code != 404 => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

impl Options {
    /// The default options.
    fn plain() -> Self {
        Self { demands: Preconditions::default(), intent: Intent::Real, policy: None, grace: None }
    }
}

fn terms(resource: &Resource, object: &Value, options: &Options) -> Terms {
    let orphans = matches!(resource.storage(), ("batch", "jobs") | ("", "replicationcontrollers"));
    let terms = Terms::at_once(object, options.policy.unwrap_or(Policy::Unspecified { orphans }));
    let grace = if resource.is("", "pods") { pod_grace(object, options.grace) } else { 0 };
    Terms { grace, ..terms }
}

/// Returns the grace period of a pod in seconds; zero if it has no node.
fn pod_grace(pod: &Value, requested: Option<i64>) -> i64 {
    let text = |pointer| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/spec/nodeName").is_empty() || matches!(text("/status/phase"), "Failed" | "Succeeded") {
        return 0;
    }
    let own = || pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    match requested.or_else(own).unwrap_or(30) {
        negative if negative < 0 => 1,
        grace => grace,
    }
}

/// Returns whether kube-apiserver responds with the object instead of a `Status`.
fn returns_object(resource: &Resource) -> bool {
    let kinds = ["pods", "services", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts"];
    resource.group.is_empty() && kinds.contains(&resource.plural.as_str())
}

fn success(resource: &Resource, record: &Record) -> ApiResponse {
    let details = StatusDetails {
        name: record.key().name().to_owned(),
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        uid: record.content().uid().to_owned(),
        ..no_details()
    };
    ApiResponse::json(200, status_to_json(&Status::success().with_details(details)))
}
