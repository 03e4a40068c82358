//! Deletes one object, or marks it until its finalizers are done.

use crate::invalid::FieldError;
use crate::object::{
    deletion::{self, Decision, Preconditions},
    metadata,
};
use crate::registry::Resource;
use crate::storage::{Missed, Record, Write};
use crate::verb::{
    answer::Answer,
    cluster::{Cluster, encode, now},
    consequence::{self, holds_others},
    get::object as answer,
    refusal::{Refusal, no_details},
    request::{Intent, Request},
    update::current,
};
use kube_core::{Status, response::StatusDetails};
use kube_informer_wire::status_to_json;
use serde_json::Value;

/// Deletes the object that the path names.
pub(crate) fn delete(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    let (demands, intent) = options(request)?;
    match remove(cluster, request, &demands, intent)? {
        Gone::Removed(record) if !returns_object(&request.resource) => {
            Ok(success(&request.resource, &record))
        }
        Gone::Removed(record) | Gone::Waiting(record) => Ok(answer(200, request, &record)),
    }
}

/// What became of an object that was to be deleted.
pub(crate) enum Gone {
    /// It is gone; this was its last state.
    Removed(Record),
    /// It waits for its finalizers.
    Waiting(Record),
}

impl Gone {
    pub(crate) fn into_record(self) -> Record {
        match self {
            Self::Removed(record) | Self::Waiting(record) => record,
        }
    }
}

const OPTIONS: &str = "DeleteOptions";
/// What may become of what an object owns; here it stays in any case.
const POLICIES: [&str; 3] = ["Foreground", "Background", "Orphan"];

/// The demands in the body or the query string.
pub(crate) fn options(request: &Request) -> Result<(Preconditions, Intent), Refusal> {
    let options: Value = match request.body.is_empty() {
        true => Value::Null,
        // Options carry the version of the group of the object, or v1; neither makes a difference.
        false => request.value()?,
    };
    let demand =
        |field: &str| options.pointer(&format!("/preconditions/{field}"))?.as_str().map(str::to_owned);
    let said = options.get("dryRun").and_then(Value::as_array).into_iter().flatten();
    let intent = match Intent::of(OPTIONS, said.filter_map(Value::as_str))? {
        Intent::DryRun => Intent::DryRun,
        Intent::Real => request.intent(OPTIONS)?,
    };
    let policy = options.get("propagationPolicy").and_then(Value::as_str).map(str::to_owned);
    if let Some(policy) = policy.or_else(|| request.parameter("propagationPolicy"))
        && !POLICIES.contains(&policy.as_str())
    {
        let error = FieldError::not_supported("propagationPolicy", &policy, &POLICIES);
        return Err(Refusal::options(OPTIONS, &error));
    }
    Ok((Preconditions { uid: demand("uid"), resource_version: demand("resourceVersion") }, intent))
}

/// Deletes the object that a request names.
pub(crate) fn remove(
    cluster: &Cluster,
    request: &Request,
    demands: &Preconditions,
    intent: Intent,
) -> Result<Gone, Refusal> {
    let (resource, key) = (&request.resource, request.key());
    loop {
        let (record, object) = current(cluster, request)?;
        let decision = deletion::decide(&object, demands, &now());
        let decision =
            decision.map_err(|mismatch| Refusal::conflict(resource, &request.name, &mismatch.to_string()))?;
        let write = match decision {
            Decision::Remove if intent == Intent::DryRun => return Ok(Gone::Removed(record)),
            _ if intent == Intent::DryRun => return Ok(Gone::Waiting(record)),
            _ if holds_others(resource) && metadata::is_deleting(&object) => {
                consequence::empty(cluster, resource, &object);
                return Ok(Gone::Waiting(record));
            }
            _ if holds_others(resource) => Write::Replace(
                record.version(),
                encode(resource, record.key().clone(), consequence::terminating(resource, &object)),
            ),
            Decision::AlreadyDeleting => return Ok(Gone::Waiting(record)),
            Decision::Remove => Write::Remove(record.version()),
            Decision::MarkDeleting(marked) => {
                Write::Replace(record.version(), encode(resource, record.key().clone(), marked))
            }
        };
        let is_removal = matches!(write, Write::Remove(_));
        match cluster.store.write(&request.place(), &key, write) {
            Ok(record) if is_removal => {
                consequence::after_removing(cluster, resource, &object);
                return Ok(Gone::Removed(record));
            }
            Ok(record) => {
                if holds_others(resource) {
                    consequence::empty(cluster, resource, &object);
                }
                return Ok(Gone::Waiting(record));
            }
            Err(Missed::Missing | Missed::Exists) => return Err(Refusal::not_found(resource, &request.name)),
            Err(Missed::Changed) => {}
        }
    }
}

/// Whether the API server answers with the object rather than with a success.
fn returns_object(resource: &Resource) -> bool {
    let kinds = ["pods", "services", "persistentvolumes", "persistentvolumeclaims", "serviceaccounts"];
    resource.group.is_empty() && kinds.contains(&resource.plural.as_str())
}

fn success(resource: &Resource, record: &Record) -> Answer {
    let details = StatusDetails {
        name: record.key().name().to_owned(),
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        uid: record.content().uid().to_owned(),
        ..no_details()
    };
    Answer::json(200, status_to_json(&Status::success().with_details(details)))
}
