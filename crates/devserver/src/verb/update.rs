//! Replaces an object, whole or in one of its aspects.

use crate::invalid::FieldError;
use crate::object::{apply_status_update, deletion, immutable_changes, metadata, prepare_update, scale};
use crate::storage::{Missed, Record, Write, head};
use crate::verb::{
    answer::Answer,
    aspect::Aspect,
    cluster::{Cluster, encode},
    consequence,
    create::create_by_update,
    escalation,
    get::object as answer,
    ownership::{Ownership, differ_in_times_only, put_managed_fields, take_managed_fields},
    refusal::Refusal,
    request::{Intent, Request},
    sound::{self, State, Way},
};
use serde_json::Value;
use std::sync::Arc;

/// An object as it is, and as it is to become.
pub(crate) struct Change {
    /// What is stored.
    pub(crate) record: Record,
    /// The same, decoded.
    pub(crate) old: Value,
    /// What the client wants instead.
    pub(crate) new: Value,
    /// How that came.
    pub(crate) way: Way,
}

/// Puts the object in the body in the place of what is there.
pub(crate) fn update(cluster: &Cluster, request: &Request, aspect: Aspect) -> Result<Answer, Refusal> {
    let new = match aspect {
        Aspect::Whole | Aspect::Status | Aspect::Binding | Aspect::Finalize => request.object()?,
        Aspect::Scale => request.object_of("autoscaling/v1", "Scale")?,
    };
    let intent = request.intent("UpdateOptions")?;
    loop {
        let (record, old) = match current(cluster, request) {
            Err(_) if request.resource.is_made_by_update && aspect == Aspect::Whole => {
                match create_by_update(cluster, request, (new.clone(), intent))? {
                    Some(answer) => return Ok(answer),
                    None => continue,
                }
            }
            found => found?,
        };
        let change = Change { record, old, new: new.clone(), way: Way::Sent };
        if let Some(record) = apply(cluster, request, (aspect, intent), change)? {
            return Ok(show(request, aspect, &record));
        }
    }
}

/// What is stored under the name in the path.
pub(crate) fn current(cluster: &Cluster, request: &Request) -> Result<(Record, Value), Refusal> {
    let found = cluster.read(&request.resource, &request.key());
    found.ok_or_else(|| Refusal::not_found(&request.resource, &request.name))
}

/// Makes a change; nothing if someone else was faster.
pub(crate) fn apply(
    cluster: &Cluster,
    request: &Request,
    (aspect, intent): (Aspect, Intent),
    change: Change,
) -> Result<Option<Record>, Refusal> {
    check(request, aspect, &change)?;
    let mut new = next_state(request, aspect, &change)?;
    let Change { record, old, way, .. } = change;
    let state = State { old: Some(&old), object: &new, way, aspect };
    sound::check(&request.resource, &request.name, state)?;
    if old.get("rules") != new.get("rules") || old.get("subjects") != new.get("subjects") {
        escalation::check(cluster, request, &new)?;
    }
    // A namespace goes when there is nothing left in it.
    let is_namespace = request.resource.is("", "namespaces");
    let held = new.pointer("/spec/finalizers").and_then(Value::as_array).is_some_and(|held| !held.is_empty());
    let goes = deletion::is_finished(&new) && !(is_namespace && held);
    if intent == Intent::Real && aspect == Aspect::Whole && !goes {
        consequence::before_storing(cluster, &request.resource, &mut new)?;
    }
    // The API server stores nothing where nothing changes but times of owners, and the version stays.
    if differ_in_times_only(&old, &new) {
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
    let (write, after) = match goes {
        true => (Write::Remove(record.version()), Some(Record::new(Arc::from(content), record.version()))),
        false => (Write::Replace(record.version(), content), None),
    };
    match cluster.store.write(&request.place(), &request.key(), write) {
        Ok(stored) => {
            if goes {
                consequence::after_removing(cluster, &request.resource, &old);
            } else if is_namespace {
                consequence::finish_namespace(cluster, &request.name);
            }
            Ok(Some(after.map_or(stored.clone(), |after| after.at(stored.version()))))
        }
        Err(Missed::Missing) => Err(Refusal::not_found(&request.resource, &request.name)),
        // A client that named a version is refused when it is looked at again.
        Err(Missed::Changed | Missed::Exists) => Ok(None),
    }
}

/// Returns the next state of an object, with its owners.
fn next_state(request: &Request, aspect: Aspect, change: &Change) -> Result<Value, Refusal> {
    let Change { old, way, .. } = change;
    let mut new = change.new.clone();
    let ownership = Ownership::new(request, aspect, way.options())?;
    let prepared = |new: &mut Value| {
        let prepared = prepare(request, aspect, old, new);
        prepared.map_err(|errors| Refusal::invalid(&request.resource, &request.name, &errors))
    };
    if aspect == Aspect::Scale {
        prepared(&mut new)?;
        ownership.update(old, &mut new);
        return Ok(new);
    }
    sound::normalized(request, &mut new, *way, way.options())?;
    if *way != Way::Applied {
        ownership.update(old, &mut new);
    }
    // The status of some kinds is written without their metadata, and its owners are new all the same.
    let managed = take_managed_fields(&mut new);
    prepared(&mut new)?;
    put_managed_fields(&mut new, managed.as_ref());
    Ok(new)
}

/// Answers with one side of an object.
pub(crate) fn show(request: &Request, aspect: Aspect, record: &Record) -> Answer {
    match aspect {
        Aspect::Whole | Aspect::Status | Aspect::Binding | Aspect::Finalize => answer(200, request, record),
        Aspect::Scale => {
            let object = record.to_value(&head(&request.resource.api_version(), &request.resource.kind));
            Answer::document(&scale::read(&request.resource, &object).unwrap_or_default())
        }
    }
}

/// Whether the client means the object that is there.
fn check(request: &Request, aspect: Aspect, change: &Change) -> Result<(), Refusal> {
    let (resource, name) = (&request.resource, &request.name);
    let said = metadata::name(&change.new);
    if said.is_empty() {
        let message = "name must be provided";
        return Err(Refusal::bad_request(message)).or_else(|refusal| match aspect {
            Aspect::Whole => Err(refusal),
            Aspect::Status | Aspect::Scale | Aspect::Binding | Aspect::Finalize => Ok(()),
        });
    }
    if said != name {
        let message = format!("the name of the object ({said}) does not match the name on the URL ({name})");
        return Err(Refusal::bad_request(&message));
    }
    let namespace = metadata::namespace(&change.new);
    if !namespace.is_empty() && namespace != metadata::namespace(&change.old) {
        return Err(Refusal::other_namespace());
    }
    let (wanted, found) = (metadata::text(&change.new, "uid"), metadata::text(&change.old, "uid"));
    if !wanted.is_empty() && wanted != found {
        let why = format!("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}");
        return Err(Refusal::conflict(resource, name, &why));
    }
    match metadata::text(&change.new, "resourceVersion") {
        "" if resource.needs_version && aspect != Aspect::Scale => {
            let field = "metadata.resourceVersion";
            let error = FieldError::invalid(field, &0.into(), "must be specified for an update");
            Err(Refusal::invalid(resource, name, &[error]))
        }
        "" => Ok(()),
        version if version.parse() == Ok(change.record.version()) => Ok(()),
        _ => Err(Refusal::modified(resource, name)),
    }
}

/// Makes what the client wants into the next state of the object.
fn prepare(request: &Request, aspect: Aspect, old: &Value, new: &mut Value) -> Result<(), Vec<FieldError>> {
    let resource = &request.resource;
    match aspect {
        Aspect::Whole => {
            prepare_update(resource, old, new)?;
            let errors = immutable_changes(resource, old, new);
            if errors.is_empty() { Ok(()) } else { Err(errors) }
        }
        Aspect::Status => apply_status_update(resource, old, new),
        Aspect::Binding => Ok(()),
        Aspect::Finalize => {
            let finalizers = new.pointer("/spec/finalizers").cloned();
            let mut next = old.clone();
            let spec = metadata::fields(metadata::fields(&mut next).entry("spec").or_insert(Value::Null));
            metadata::keep("finalizers", finalizers.as_ref(), spec);
            *new = next;
            Ok(())
        }
        Aspect::Scale => {
            let mut next = old.clone();
            scale::write(resource, &mut next, new).map_err(|error| vec![error])?;
            *new = next;
            prepare_update(resource, old, new)
        }
    }
}
