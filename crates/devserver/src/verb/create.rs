//! Makes an object.

use crate::object::{Birth, generate_name, metadata, stamp_new, validate_name, wipe_system_fields};
use crate::registry::Resource;
use crate::storage::{Missed, Record, Write};
use crate::verb::{
    answer::Answer,
    aspect::Aspect,
    authorization,
    clock::now,
    cluster::{Cluster, encode},
    consequence::{self, Readiness},
    escalation,
    get::object as answer,
    ownership::Ownership,
    refusal::Refusal,
    request::{Intent, Request},
    sound::{self, State, Way},
};
use kube_informer_wire::Key;
use serde_json::Value;
use std::sync::Arc;

/// How many names are tried for an object that leaves its name to the server.
const ATTEMPTS: usize = 8;

/// Stores the object in the body, and answers with what became of it.
pub(crate) fn create(cluster: &Cluster, request: &Request) -> Result<Answer, Refusal> {
    let object = request.object()?;
    let intent = request.intent("CreateOptions")?;
    if !metadata::text(&object, "resourceVersion").is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Refusal::unexplained(message));
    }
    let resource = &request.resource;
    let prefix = metadata::text(&object, "generateName");
    let is_generated = metadata::name(&object).is_empty() && !prefix.is_empty();
    for attempt in 1.. {
        let name = match is_generated {
            true => generate_name(prefix, cluster.random()),
            false => metadata::name(&object).to_owned(),
        };
        let draft = Draft { object: object.clone(), intent, way: Way::Sent };
        match store(cluster, request, &name, draft)? {
            Ok(record) => return Ok(answer(201, request, &record)),
            Err(_) if is_generated && attempt < ATTEMPTS => {}
            Err(_) => return Err(Refusal::already_exists(resource, &name)),
        }
    }
    unreachable!("the loop ends by itself")
}

/// Stores an object under the name in the path, where a client may do so by an update; nothing if there is one by now.
pub(crate) fn create_by_update(
    cluster: &Cluster,
    request: &Request,
    (object, intent): (Value, Intent),
) -> Result<Option<Answer>, Refusal> {
    if !metadata::text(&object, "uid").is_empty() {
        let why = "Precondition failed: UID in precondition, and there is no object";
        return Err(Refusal::conflict(&request.resource, &request.name, why));
    }
    authorization::check_create(cluster, request)?;
    let stored = store(cluster, request, &request.name, Draft { object, intent, way: Way::Sent })?;
    Ok(stored.ok().map(|record| answer(201, request, &record)))
}

/// Stores an object that a configuration was applied to under the name in the path; `None` if there is one by now.
pub(crate) fn create_by_apply(
    cluster: &Cluster,
    request: &Request,
    object: Value,
    intent: Intent,
) -> Result<Option<Answer>, Refusal> {
    let (resource, name) = (&request.resource, &request.name);
    let said = metadata::name(&object);
    if said != *name {
        let message = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(Refusal::bad_request(&message));
    }
    let namespace = metadata::namespace(&object);
    if !namespace.is_empty() && request.namespace.as_deref() != Some(namespace) {
        return Err(Refusal::other_namespace());
    }
    if !metadata::text(&object, "uid").is_empty() {
        let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
        return Err(Refusal::conflict(resource, name, why));
    }
    authorization::check_create(cluster, request)?;
    let stored = store(cluster, request, name, Draft { object, intent, way: Way::Applied })?;
    Ok(stored.ok().map(|record| answer(201, request, &record)))
}

/// An object that is to be created.
struct Draft {
    object: Value,
    intent: Intent,
    way: Way,
}

fn store(
    cluster: &Cluster,
    request: &Request,
    name: &str,
    draft: Draft,
) -> Result<Result<Record, Missed>, Refusal> {
    let Draft { mut object, intent, way } = draft;
    let resource = &request.resource;
    sound::normalized(request, &mut object, way, "CreateOptions")?;
    validate_name(resource, name).map_err(|error| Refusal::invalid(resource, name, &[error]))?;
    escalation::check(cluster, request, &object)?;
    if consequence::is_going(cluster, resource) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Refusal::forbidden(resource, name, why));
    }
    if let Some(namespace) = &request.namespace {
        admit(cluster, resource, namespace, name)?;
    }
    let key = Key::new(request.namespace.as_deref(), name);
    let key = key.map_err(|error| Refusal::bad_request(&error.to_string()))?;
    // Ownership is that of the fields that the client sent and their defaults, not of what the server writes.
    if way == Way::Sent {
        wipe_system_fields(&mut object);
        Ownership::new(request, Aspect::Whole, "CreateOptions")?.create(&mut object);
    }
    let birth = Birth { namespace: request.namespace.as_deref(), name, uid: cluster.uid(), now: &now() };
    stamp_new(resource, &mut object, &birth);
    sound::check(resource, name, State { old: None, object: &object, way, aspect: Aspect::Whole })?;
    if cluster.store.get(&request.place(), key.as_str()).is_some() {
        return Ok(Err(Missed::Exists));
    }
    if intent == Intent::DryRun {
        let content = Arc::from(encode(resource, key, object));
        return Ok(Ok(Record::new(content, cluster.store.version())));
    }
    consequence::before_storing(cluster, resource, &mut object)?;
    let content = encode(resource, key.clone(), object);
    Ok(cluster.store.write(&request.place(), key.as_str(), Write::Create(content)))
}

/// Refuses an object whose namespace is not there, or is going.
fn admit(cluster: &Cluster, resource: &Resource, namespace: &str, name: &str) -> Result<(), Refusal> {
    match consequence::readiness(cluster, namespace) {
        Readiness::Open => Ok(()),
        Readiness::Missing => {
            let namespaces = consequence::namespaces(cluster).ok_or_else(Refusal::no_such_path)?;
            Err(Refusal::not_found(&namespaces, namespace))
        }
        Readiness::Terminating => {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let message = format!("namespace {namespace} is being terminated");
            Err(Refusal::forbidden(resource, name, &why).because("NamespaceTerminating", &message))
        }
    }
}
