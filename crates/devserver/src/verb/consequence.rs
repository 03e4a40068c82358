//! What follows from a change: definitions are served, namespaces empty themselves.

use crate::object::{deletion, metadata};
use crate::registry::{Resource, establish};
use crate::storage::{Place, Selection, Span, Write};
use crate::verb::{
    cluster::{Cluster, encode, now},
    refusal::Refusal,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Checks and completes an object before it is stored: what a definition defines is served from here on.
pub(crate) fn before_storing(
    cluster: &Cluster,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), Refusal> {
    if !is_definition(resource) {
        return Ok(());
    }
    let served = cluster.change_registry(|registry| registry.add_crd(object));
    served.map_err(|error| Refusal::invalid(resource, metadata::name(object), &error.fields))?;
    if object.pointer("/status/conditions").is_none_or(|conditions| !conditions.is_array()) {
        establish(object, &now());
    }
    Ok(())
}

/// Does what follows when an object is gone.
pub(crate) fn after_removing(cluster: &Cluster, resource: &Resource, object: &Value) {
    if is_definition(resource) {
        let defined = defined_by(cluster, object);
        let gone: Result<(), ()> = cluster.change_registry(|registry| {
            registry.remove_crd(object);
            Ok(())
        });
        debug_assert!(gone.is_ok(), "nothing fails in it");
        if let Some(defined) = defined {
            remove_all(cluster, &defined, None);
        }
    }
    let namespace = metadata::namespace(object);
    if !namespace.is_empty() {
        finish_namespace(cluster, namespace);
    }
}

/// Empties a namespace that is being deleted, and removes it once nothing in it waits for a finalizer.
pub(crate) fn empty_namespace(cluster: &Cluster, namespace: &str) {
    for resource in stored(cluster).iter().filter(|resource| resource.is_namespaced()) {
        remove_all(cluster, resource, Some(namespace));
    }
    finish_namespace(cluster, namespace);
}

/// Whether a namespace can take new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It can.
    Open,
    /// It is being deleted.
    Terminating,
    /// There is none of that name.
    Missing,
}

pub(crate) fn readiness(cluster: &Cluster, namespace: &str) -> Readiness {
    let Some(resource) = namespaces(cluster) else { return Readiness::Missing };
    match cluster.read(&resource, namespace) {
        None => Readiness::Missing,
        Some((_, object)) if metadata::is_deleting(&object) => Readiness::Terminating,
        Some(_) => Readiness::Open,
    }
}

/// The resource of namespaces.
pub(crate) fn namespaces(cluster: &Cluster) -> Option<Arc<Resource>> {
    cluster.registry().resource("", "v1", "namespaces").cloned()
}

/// Marks a namespace as being deleted.
pub(crate) fn terminating(namespace: &Value) -> Value {
    let mut next = namespace.clone();
    let meta = metadata::of(&mut next);
    if meta.get("deletionTimestamp").is_none_or(Value::is_null) {
        meta.insert("deletionTimestamp".to_owned(), now().into());
    }
    metadata::fields(&mut next).insert("status".to_owned(), json!({ "phase": "Terminating" }));
    next
}

/// Removes an object, or marks it if it waits for finalizers.
fn remove(cluster: &Cluster, resource: &Resource, key: &str) {
    let place = Place::new(resource.storage());
    // Whoever changes the object meanwhile makes the next round necessary.
    while let Some((record, object)) = cluster.read(resource, key) {
        let decision = deletion::decide(&object, &deletion::Preconditions::default(), &now());
        let write = match decision {
            Ok(deletion::Decision::Remove) => Write::Remove(record.version()),
            Ok(deletion::Decision::MarkDeleting(marked)) => {
                Write::Replace(record.version(), encode(resource, record.key().clone(), marked))
            }
            Ok(deletion::Decision::AlreadyDeleting) | Err(_) => return,
        };
        let is_removal = matches!(write, Write::Remove(_));
        if cluster.store.write(&place, key, write).is_ok() {
            if is_removal && is_definition(resource) {
                after_removing(cluster, resource, &object);
            }
            return;
        }
    }
}

fn remove_all(cluster: &Cluster, resource: &Resource, namespace: Option<&str>) {
    let selection = Selection::everything(namespace);
    let page = cluster.store.list(&Place::new(resource.storage()), &selection, &Span::default());
    for record in page.map(|page| page.records).unwrap_or_default() {
        remove(cluster, resource, record.key().as_str());
    }
}

fn finish_namespace(cluster: &Cluster, namespace: &str) {
    if readiness(cluster, namespace) != Readiness::Terminating {
        return;
    }
    let one = Span { limit: std::num::NonZeroU64::new(1), ..Span::default() };
    let is_empty = |resource: &Arc<Resource>| {
        let place = Place::new(resource.storage());
        let page = cluster.store.list(&place, &Selection::everything(Some(namespace)), &one);
        page.is_ok_and(|page| page.records.is_empty())
    };
    if stored(cluster).iter().filter(|resource| resource.is_namespaced()).all(is_empty)
        && let Some(resource) = namespaces(cluster)
        && let Some((record, object)) = cluster.read(&resource, namespace)
        && metadata::finalizers(&object).next().is_none()
    {
        // If it changed meanwhile, whoever changed it comes here too.
        let _ =
            cluster.store.write(&Place::new(resource.storage()), namespace, Write::Remove(record.version()));
    }
}

/// Each resource that has objects of its own, once.
fn stored(cluster: &Cluster) -> Vec<Arc<Resource>> {
    let registry = cluster.registry();
    let is_first = |resource: &&Arc<Resource>| {
        let (group, plural) = resource.storage();
        registry.preferred(group, plural).is_some_and(|first| Arc::ptr_eq(first, resource))
    };
    registry.resources().filter(is_first).cloned().collect()
}

fn defined_by(cluster: &Cluster, definition: &Value) -> Option<Arc<Resource>> {
    let text = |pointer| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let registry = cluster.registry();
    registry.preferred(text("/spec/group"), text("/spec/names/plural")).cloned()
}

fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}
