//! Updates an object or one of its subresources.

use crate::admission::Operation;
use crate::invalid::FieldError;
use crate::object::{
    apply_status_update, deletion, immutable_changes, metadata, prepare_update, scale, service,
};
use crate::storage::{Record, Write, WriteError, head};
use crate::verb::{
    admission::Admission,
    api_response::ApiResponse,
    checks::{self, RequestType, State},
    cluster::{Cluster, encode},
    conversion,
    create::create_by_update,
    error_response::ErrorResponse,
    escalation,
    get::object as answer,
    object_part::ObjectPart,
    ownership::{Ownership, differ_in_times_only, put_managed_fields, take_managed_fields},
    request::{Intent, Request},
    service_addresses, side_effects,
};
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

/// The stored and the new state of an object.
pub(crate) struct Change {
    /// The stored object.
    pub(crate) record: Record,
    /// The stored object, decoded.
    pub(crate) old: Value,
    /// The new state.
    pub(crate) new: Value,
    /// The type of the request.
    pub(crate) request_type: RequestType,
}

/// Replaces the stored object by the one in the body.
pub(crate) async fn update(
    cluster: &Cluster,
    request: &Request,
    part: ObjectPart,
) -> Result<ApiResponse, ErrorResponse> {
    let intent = request.intent("UpdateOptions")?;
    let sent = match part {
        ObjectPart::Whole | ObjectPart::Status | ObjectPart::Binding | ObjectPart::Finalize => {
            request.object()?
        }
        ObjectPart::Scale => request.object_of("autoscaling/v1", "Scale")?,
    };
    // A body that is invalid by itself is refused before the object is looked up.
    let mut new = sent.clone();
    if part != ObjectPart::Scale {
        checks::normalized(request, &mut new, RequestType::Sent, RequestType::Sent.options())?;
    }
    check_name(request, part, &new)?;
    loop {
        let (record, old) = match current_converted(cluster, request).await {
            Err(_) if request.resource.is_made_by_update && part == ObjectPart::Whole => {
                match create_by_update(cluster, request, sent.clone(), intent).await? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                }
            }
            found => found?,
        };
        let change = Change { record, old, new: new.clone(), request_type: RequestType::Sent };
        if let Some(record) = apply(cluster, request, part, intent, change).await? {
            return show(cluster, request, part, &record).await;
        }
    }
}

/// Returns the stored object with the name in the path, without a conversion by a webhook.
pub(crate) fn current(cluster: &Cluster, request: &Request) -> Result<(Record, Value), ErrorResponse> {
    let found = cluster.read(&request.resource, &request.key());
    found.ok_or_else(|| ErrorResponse::not_found(&request.resource, &request.name))
}

/// Returns the stored object with the name in the path, in the version of the request.
pub(crate) async fn current_converted(
    cluster: &Cluster,
    request: &Request,
) -> Result<(Record, Value), ErrorResponse> {
    let (record, object) = current(cluster, request)?;
    match request.resource.conversion {
        None => Ok((record, object)),
        Some(_) => {
            let object = conversion::from_storage(cluster, &request.resource, &record).await?;
            Ok((record, object))
        }
    }
}

/// Stores a change; `None` if the object was changed in the meantime.
pub(crate) async fn apply(
    cluster: &Cluster,
    request: &Request,
    part: ObjectPart,
    intent: Intent,
    change: Change,
) -> Result<Option<Record>, ErrorResponse> {
    let change = normalized(request, part, change)?;
    check(request, part, &change)?;
    let operation = Operation::Update;
    let admission = Admission { cluster, request, operation, part, options: "UpdateOptions", intent };
    let (mut new, errors) = next_state(admission, &change).await?;
    service_addresses::assign(cluster, &request.resource, &mut new)?;
    let Change { record, old, request_type, .. } = change;
    let state = State { old: Some(&old), object: &new, request_type, part };
    checks::check(&request.resource, &request.name, state, errors)?;
    let [old_part, new_part] = [&old, &new].map(|state| part_of(request, part, state));
    admission.validate(Some(&new_part), Some(&old_part)).await?;
    if old.get("rules") != new.get("rules") || old.get("subjects") != new.get("subjects") {
        escalation::check(cluster, request, &new)?;
    }
    // A namespace is removed when it is empty.
    let is_namespace = request.resource.is("", "namespaces");
    let finalizers = new.pointer("/spec/finalizers").and_then(Value::as_array).map_or(0, Vec::len);
    let is_removed = deletion::is_finished(&new) && !(is_namespace && finalizers > 0);
    if intent == Intent::Real && part == ObjectPart::Whole && !is_removed {
        side_effects::before_storing(cluster, &request.resource, &mut new)?;
    }
    let is_unchanged = differ_in_times_only(&old, &new);
    let new = conversion::to_storage(cluster, &request.resource, new).await?;
    // If only the times of managers differ, the API server does not store the object, and the version does not change.
    if is_unchanged {
        let mut same = new.clone();
        put_managed_fields(&mut same, old.pointer("/metadata/managedFields"));
        if encode(&request.resource, record.key().clone(), same).is_same(record.content()) {
            return Ok(Some(record));
        }
    }
    let content = encode(&request.resource, record.key().clone(), new);
    if intent == Intent::DryRun {
        return Ok(Some(Record::new(Arc::from(content), record.version())));
    }
    let (write, after) = match is_removed {
        true => (Write::Remove(record.version()), Some(Record::new(Arc::from(content), record.version()))),
        false => (Write::Replace(record.version(), content), None),
    };
    match cluster.store.write(&request.collection(), &request.key(), write) {
        Ok(stored) => {
            if is_removed {
                side_effects::after_removing(cluster, &request.resource, &old);
            } else if is_namespace {
                side_effects::finish_namespace(cluster, &request.name);
            }
            Ok(Some(after.map_or(stored.clone(), |after| after.at(stored.version()))))
        }
        Err(WriteError::Missing) => Err(ErrorResponse::not_found(&request.resource, &request.name)),
        // A request with a version is rejected at the next check.
        Err(WriteError::Changed | WriteError::Exists) => Ok(None),
    }
}

/// Rewrites the new state in the form in which it is stored. The body of an update has this form already, and a scale has no other.
fn normalized(request: &Request, part: ObjectPart, mut change: Change) -> Result<Change, ErrorResponse> {
    if change.request_type != RequestType::Sent && part != ObjectPart::Scale {
        checks::normalized(request, &mut change.new, change.request_type, change.request_type.options())?;
    }
    Ok(change)
}

/// Returns the next state of an object, with its owners, and the errors of changes of immutable fields.
async fn next_state(
    admission: Admission<'_>,
    change: &Change,
) -> Result<(Value, Vec<FieldError>), ErrorResponse> {
    let Admission { request, part, .. } = admission;
    let Change { old, request_type, .. } = change;
    let mut new = change.new.clone();
    let ownership = Ownership::new(request, part, request_type.options())?;
    if part == ObjectPart::Scale {
        admission.mutate(&mut new, Some(&part_of(request, part, old))).await?;
        let errors = prepare(request, part, old, &mut new);
        ownership.update(old, &mut new);
        return Ok((new, errors));
    }
    if *request_type != RequestType::Applied {
        ownership.update(old, &mut new);
    }
    admission.mutate(&mut new, Some(old)).await?;
    // The status of some kinds is written without their metadata, and its owners are new all the same.
    let managed = take_managed_fields(&mut new);
    let errors = prepare(request, part, old, &mut new);
    put_managed_fields(&mut new, managed.as_ref());
    Ok((new, errors))
}

/// Returns the object that a request for a subresource reads and writes: a scale, or the object itself.
fn part_of<'o>(request: &Request, part: ObjectPart, object: &'o Value) -> Cow<'o, Value> {
    match part {
        ObjectPart::Scale => Cow::Owned(scale::read(&request.resource, object).unwrap_or_default()),
        ObjectPart::Whole | ObjectPart::Status | ObjectPart::Binding | ObjectPart::Finalize => {
            Cow::Borrowed(object)
        }
    }
}

/// Returns a part of an object.
pub(crate) async fn show(
    cluster: &Cluster,
    request: &Request,
    part: ObjectPart,
    record: &Record,
) -> Result<ApiResponse, ErrorResponse> {
    let record = conversion::records(cluster, &request.resource, vec![record.clone()]).await?.remove(0);
    Ok(match part {
        ObjectPart::Whole | ObjectPart::Status | ObjectPart::Binding | ObjectPart::Finalize => {
            answer(200, request, &record)
        }
        ObjectPart::Scale => {
            let object = record.to_value(&head(&request.resource.api_version(), &request.resource.kind));
            ApiResponse::document(&scale::read(&request.resource, &object).unwrap_or_default())
        }
    })
}

/// Checks that an object has the name of the request.
fn check_name(request: &Request, part: ObjectPart, object: &Value) -> Result<(), ErrorResponse> {
    let (name, said) = (&request.name, metadata::name(object));
    if said.is_empty() {
        let message = "name must be provided";
        return Err(ErrorResponse::bad_request(message)).or_else(|error| match part {
            ObjectPart::Whole => Err(error),
            ObjectPart::Status | ObjectPart::Scale | ObjectPart::Binding | ObjectPart::Finalize => Ok(()),
        });
    }
    if said != name {
        let message = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(ErrorResponse::bad_request(&message));
    }
    Ok(())
}

/// Checks the preconditions of the client.
fn check(request: &Request, part: ObjectPart, change: &Change) -> Result<(), ErrorResponse> {
    let (resource, name) = (&request.resource, &request.name);
    let namespace = metadata::namespace(&change.new);
    if !namespace.is_empty() && namespace != metadata::namespace(&change.old) {
        return Err(ErrorResponse::other_namespace());
    }
    check_name(request, part, &change.new)?;
    let (wanted, found) = (metadata::text(&change.new, "uid"), metadata::text(&change.old, "uid"));
    // The uid in a patch is not a precondition but a change of a field.
    if change.request_type == RequestType::Sent && !wanted.is_empty() && wanted != found {
        let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
        return Err(ErrorResponse::conflict(resource, name, &why));
    }
    match metadata::text(&change.new, "resourceVersion") {
        "" if resource.needs_version && part != ObjectPart::Scale => {
            let field = "metadata.resourceVersion";
            let error = FieldError::invalid(field, &0.into(), "must be specified for an update");
            // kube-apiserver has the resource in the place of the kind.
            return Err(ErrorResponse::invalid_fields(&resource.group, &resource.plural, name, &[error]));
        }
        "" => {}
        version if version.parse() == Ok(change.record.version()) => {}
        _ => return Err(ErrorResponse::modified(resource, name)),
    }
    match part {
        ObjectPart::Scale => Ok(()),
        ObjectPart::Whole | ObjectPart::Status | ObjectPart::Binding | ObjectPart::Finalize => {
            checks::check_kind(resource, name, &change.new)
        }
    }
}

/// Completes the new state of the object, and returns the errors of changes of immutable fields.
fn prepare(request: &Request, part: ObjectPart, old: &Value, new: &mut Value) -> Vec<FieldError> {
    let resource = &request.resource;
    match part {
        ObjectPart::Whole => {
            if resource.is("", "services") {
                service::retain_assigned(old, new);
            }
            let mut errors = prepare_update(resource, old, new).err().unwrap_or_default();
            errors.extend(immutable_changes(resource, old, new));
            errors
        }
        ObjectPart::Status => apply_status_update(resource, old, new).err().unwrap_or_default(),
        ObjectPart::Binding => Vec::new(),
        ObjectPart::Finalize => {
            let finalizers = new.pointer("/spec/finalizers").cloned();
            let mut next = old.clone();
            let spec = metadata::fields(metadata::fields(&mut next).entry("spec").or_insert(Value::Null));
            metadata::keep("finalizers", finalizers.as_ref(), spec);
            *new = next;
            Vec::new()
        }
        ObjectPart::Scale => {
            let mut next = old.clone();
            let written = scale::write(resource, &mut next, new);
            *new = next;
            let prepared = prepare_update(resource, old, new);
            written.err().into_iter().chain(prepared.err().unwrap_or_default()).collect()
        }
    }
}
