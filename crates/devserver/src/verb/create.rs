//! Creates an object.

use crate::admission::Operation;
use crate::object::{NewObject, complete, generate_name, metadata, remove_system_fields};
use crate::registry::Resource;
use crate::storage::{Record, Write, WriteError};
use crate::verb::{
    admission::Admission,
    api_response::ApiResponse,
    authorization,
    checks::{self, RequestType, State},
    clock::now,
    cluster::{Cluster, encode},
    conversion,
    error_response::ErrorResponse,
    escalation,
    get::object as answer,
    object_part::ObjectPart,
    ownership::Ownership,
    request::{Intent, Request},
    service_addresses,
    side_effects::{self, Readiness},
};
use kube_informer_wire::Key;
use serde_json::Value;
use std::sync::Arc;

/// The number of generated names that are tried.
const ATTEMPTS: usize = 8;

/// Creates the object in the body, and returns the stored object.
pub(crate) async fn create(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let object = request.object()?;
    let intent = request.intent("CreateOptions")?;
    let resource = &request.resource;
    let prefix = metadata::text(&object, "generateName");
    let is_generated = metadata::name(&object).is_empty() && !prefix.is_empty();
    for attempt in 1.. {
        let name = match is_generated {
            true => generate_name(prefix, cluster.random()),
            false => metadata::name(&object).to_owned(),
        };
        let draft =
            Draft { object: object.clone(), intent, request_type: RequestType::Sent, origin: Origin::Create };
        match store(cluster, request, &name, draft).await? {
            Ok(record) => return created(cluster, request, record).await,
            Err(_) if is_generated && attempt < ATTEMPTS => {}
            Err(_) => return Err(ErrorResponse::already_exists(resource, &name)),
        }
    }
    unreachable!("the loop ends by itself")
}

/// Creates an object by an update of the name in the path, if its kind allows it; `None` if the object exists in the meantime.
pub(crate) async fn create_by_update(
    cluster: &Cluster,
    request: &Request,
    object: Value,
    intent: Intent,
) -> Result<Option<ApiResponse>, ErrorResponse> {
    if !metadata::text(&object, "uid").is_empty() {
        let why = "Precondition failed: UID in precondition, and there is no object";
        return Err(ErrorResponse::conflict(&request.resource, &request.name, why));
    }
    authorization::check_create(cluster, request)?;
    let draft = Draft { object, intent, request_type: RequestType::Sent, origin: Origin::Update };
    let stored = store(cluster, request, &request.name, draft).await?;
    match stored {
        Ok(record) => created(cluster, request, record).await.map(Some),
        Err(_) => Ok(None),
    }
}

/// Creates an object by an apply to the name in the path; `None` if the object exists in the meantime.
pub(crate) async fn create_by_apply(
    cluster: &Cluster,
    request: &Request,
    object: Value,
    intent: Intent,
) -> Result<Option<ApiResponse>, ErrorResponse> {
    let (resource, name) = (&request.resource, &request.name);
    let said = metadata::name(&object);
    if said != *name {
        let message = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(ErrorResponse::bad_request(&message));
    }
    let namespace = metadata::namespace(&object);
    if !namespace.is_empty() && request.namespace.as_deref() != Some(namespace) {
        return Err(ErrorResponse::other_namespace());
    }
    if !metadata::text(&object, "uid").is_empty() {
        let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
        return Err(ErrorResponse::conflict(resource, name, why));
    }
    authorization::check_create(cluster, request)?;
    let draft = Draft { object, intent, request_type: RequestType::Applied, origin: Origin::Update };
    let stored = store(cluster, request, name, draft).await?;
    match stored {
        Ok(record) => created(cluster, request, record).await.map(Some),
        Err(_) => Ok(None),
    }
}

/// Returns the response with a created object.
async fn created(cluster: &Cluster, request: &Request, record: Record) -> Result<ApiResponse, ErrorResponse> {
    let record = conversion::records(cluster, &request.resource, vec![record]).await?.remove(0);
    Ok(answer(201, request, &record))
}

/// An object to create.
struct Draft {
    object: Value,
    intent: Intent,
    request_type: RequestType,
    origin: Origin,
}

/// The request that creates an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A create request, whose object cannot have a version.
    Create,
    /// An update or an apply.
    Update,
}

async fn store(
    cluster: &Cluster,
    request: &Request,
    name: &str,
    draft: Draft,
) -> Result<Result<Record, WriteError>, ErrorResponse> {
    let Draft { mut object, intent, request_type, origin } = draft;
    let version = metadata::text(&object, "resourceVersion").to_owned();
    let resource = &request.resource;
    checks::normalized(request, &mut object, request_type, "CreateOptions")?;
    let checked_kind = checks::check_kind(resource, name, &object);
    escalation::check(cluster, request, &object)?;
    if side_effects::is_being_deleted(cluster, resource) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ErrorResponse::forbidden(resource, name, why));
    }
    if let Some(namespace) = &request.namespace {
        admit(cluster, resource, namespace, name)?;
    }
    // The manager owns the fields that the client sent and their defaults, not those that the server writes.
    if request_type == RequestType::Sent {
        remove_system_fields(&mut object);
        Ownership::new(request, ObjectPart::Whole, "CreateOptions")?.create(&mut object);
    }
    let (operation, part, options) = (Operation::Create, ObjectPart::Whole, "CreateOptions");
    let admission = Admission { cluster, request, operation, part, options, intent };
    admission.mutate(&mut object, None).await?;
    let new_object =
        NewObject { namespace: request.namespace.as_deref(), name, uid: cluster.uid(), now: &now() };
    complete(resource, &mut object, &new_object);
    service_addresses::assign(cluster, resource, &mut object)?;
    checked_kind?;
    let state = State { old: None, object: &object, request_type, part: ObjectPart::Whole };
    checks::check(resource, name, state, Vec::new())?;
    let key = Key::new(request.namespace.as_deref(), name);
    let key = key.map_err(|error| ErrorResponse::bad_request(&error.to_string()))?;
    admission.validate(Some(&object), None).await?;
    if let Some(namespace) = request.namespace.as_deref().filter(|_| admission.is_configured()) {
        // It may have been deleted while a webhook was called.
        admit(cluster, resource, namespace, name)?;
    }
    // kube-apiserver checks this where the object is stored.
    if origin == Origin::Create && intent == Intent::Real && !matches!(version.as_str(), "" | "0") {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(ErrorResponse::unexplained(message));
    }
    if cluster.store.get(&request.collection(), key.as_str()).is_some() {
        return Ok(Err(WriteError::Exists));
    }
    let mut object = conversion::to_storage(cluster, resource, object).await?;
    if intent == Intent::DryRun {
        let content = Arc::from(encode(resource, key, object));
        return Ok(Ok(Record::new(content, cluster.store.version())));
    }
    side_effects::before_storing(cluster, resource, &mut object)?;
    let content = encode(resource, key.clone(), object);
    Ok(cluster.store.write(&request.collection(), key.as_str(), Write::Create(content)))
}

/// Refuses an object whose namespace does not exist or is being deleted.
fn admit(cluster: &Cluster, resource: &Resource, namespace: &str, name: &str) -> Result<(), ErrorResponse> {
    match side_effects::readiness(cluster, namespace) {
        Readiness::Open => Ok(()),
        Readiness::Missing => {
            let namespaces = side_effects::namespaces(cluster).ok_or_else(ErrorResponse::no_such_path)?;
            Err(ErrorResponse::not_found(&namespaces, namespace))
        }
        Readiness::Terminating => {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let message = format!("namespace {namespace} is being terminated");
            Err(ErrorResponse::forbidden(resource, name, &why).with_cause("NamespaceTerminating", &message))
        }
    }
}
