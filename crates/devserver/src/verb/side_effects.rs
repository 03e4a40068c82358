//! The side effects of changes: definitions are served, and the contents of deleted namespaces are removed.

use crate::admission::configuration_errors;
use crate::invalid::FieldError;
use crate::object::{deletion::Policy, metadata};
use crate::registry::{Resource, definition_errors, establish};
use crate::storage::{CollectionId, Selection, Span, Write};
use crate::verb::{
    clock::now,
    cluster::{Cluster, Controllers, encode},
    collector::Collector,
    error_response::ErrorResponse,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};

/// Checks and completes an object before it is stored. The kinds of a definition are served after this call.
pub(crate) fn before_storing(
    cluster: &Cluster,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), ErrorResponse> {
    if !is_definition(resource) {
        return Ok(());
    }
    let served = cluster.change_registry(|registry| registry.add_crd(object));
    served.map_err(|error| ErrorResponse::invalid(resource, metadata::name(object), &error.fields))?;
    let conflict = cluster.registry().name_conflict(object);
    establish(object, conflict.as_ref(), &now());
    Ok(())
}

/// Returns the errors of an object that configures other objects.
pub(crate) fn errors(resource: &Resource, object: &Value) -> Vec<FieldError> {
    if is_definition(resource) { definition_errors(object) } else { configuration_errors(resource, object) }
}

/// Processes the effects of the removal of an object.
pub(crate) fn after_removing(cluster: &Cluster, resource: &Resource, object: &Value) {
    if is_definition(resource) {
        let defined = defined_by(cluster, object);
        let gone: Result<(), ()> = cluster.change_registry(|registry| {
            registry.remove_crd(object);
            Ok(())
        });
        debug_assert!(gone.is_ok(), "removing a definition cannot fail");
        if let Some(defined) = defined {
            cluster.store.end(&CollectionId::from(defined.storage()));
        }
    }
    if resource.is_custom() {
        finish_definition(cluster, &resource.group_resource());
    }
    let mut collector = Collector::new(cluster);
    collector.after_removing(object);
    finish(cluster, collector);
    let namespace = metadata::namespace(object);
    if !namespace.is_empty() {
        finish_namespace(cluster, namespace);
    }
}

/// Returns true if the deletion of its objects waits for the removal of other objects: for namespaces and
/// definitions.
pub(crate) fn holds_others(resource: &Resource) -> bool {
    resource.is("", "namespaces") || is_definition(resource)
}

/// Removes the contents of a namespace or the custom resources of a definition, and then the object itself if
/// nothing is left.
pub(crate) fn empty(cluster: &Cluster, resource: &Resource, object: &Value) {
    let name = metadata::name(object);
    if is_definition(resource) {
        if let Some(defined) = defined_by(cluster, object) {
            remove_all(cluster, &defined, None);
        }
        return finish_definition(cluster, name);
    }
    if cluster.controllers == Controllers::None {
        return;
    }
    for resource in cluster.stored().iter().filter(|resource| resource.is_namespaced()) {
        remove_all(cluster, resource, Some(name));
    }
    finish_namespace(cluster, name);
}

/// Returns true if the definition of a custom resource is being deleted.
pub(crate) fn is_being_deleted(cluster: &Cluster, resource: &Resource) -> bool {
    let found = || cluster.read(definitions(cluster)?.as_ref(), &resource.group_resource());
    resource.is_custom() && found().is_some_and(|(_, definition)| metadata::is_deleting(&definition))
}

/// The ability of a namespace to accept new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It accepts new objects.
    Open,
    /// It is being deleted.
    Terminating,
    /// It does not exist.
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

/// Returns the resource of namespaces.
pub(crate) fn namespaces(cluster: &Cluster) -> Option<Arc<Resource>> {
    cluster.registry().resource("", "v1", "namespaces").cloned()
}

/// Returns the resource of definitions.
fn definitions(cluster: &Cluster) -> Option<Arc<Resource>> {
    cluster.registry().resource("apiextensions.k8s.io", "v1", "customresourcedefinitions").cloned()
}

/// The finalizer with which a definition waits for the removal of its custom resources.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a namespace or a definition as being deleted.
pub(crate) fn terminating(resource: &Resource, object: &Value) -> Value {
    let mut next = object.clone();
    metadata::of(&mut next).insert("deletionTimestamp".to_owned(), now().into());
    if !is_definition(resource) {
        metadata::fields(&mut next).insert("status".to_owned(), json!({ "phase": "Terminating" }));
        return next;
    }
    let finalizers: Vec<_> = metadata::finalizers(object).chain([CLEANUP]).collect();
    metadata::of(&mut next).insert("finalizers".to_owned(), json!(finalizers));
    let message = "CustomResource deletion is in progress";
    let condition = json!({ "type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress",
        "message": message, "lastTransitionTime": now() });
    if let Some(Value::Array(conditions)) = next.pointer_mut("/status/conditions") {
        conditions.push(condition);
    }
    next
}

fn remove_all(cluster: &Cluster, resource: &Arc<Resource>, namespace: Option<&str>) {
    let selection = Selection::everything(namespace);
    let page = cluster.store.list(&CollectionId::from(resource.storage()), &selection, &Span::default());
    let mut collector = Collector::new(cluster);
    for record in page.map(|page| page.records).unwrap_or_default() {
        collector.remove(resource, record.key().as_str(), Policy::Background);
    }
    finish(cluster, collector);
}

/// Processes the effects of the removals of the garbage collector.
fn finish(cluster: &Cluster, collector: Collector<'_>) {
    let removed = collector.into_removed();
    let definitions: BTreeSet<_> = removed
        .iter()
        .filter(|one| one.resource.is_custom())
        .map(|one| one.resource.group_resource())
        .collect();
    definitions.iter().for_each(|name| finish_definition(cluster, name));
    let namespaces: BTreeSet<_> = removed.iter().map(|one| metadata::namespace(&one.object)).collect();
    namespaces.iter().for_each(|namespace| finish_namespace(cluster, namespace));
}

/// Continues the deletion of an object that waits for the garbage collector.
pub(crate) fn continue_deletion(cluster: &Cluster, resource: &Arc<Resource>, key: &str) {
    let mut collector = Collector::new(cluster);
    collector.continue_deletion(resource, key);
    finish(cluster, collector);
}

/// Removes a definition that is being deleted, if it has no objects.
fn finish_definition(cluster: &Cluster, name: &str) {
    let Some(resource) = definitions(cluster) else { return };
    // If the definition changes in the meantime, it is read again.
    while let Some((record, definition)) = cluster.read(&resource, name) {
        if !metadata::is_deleting(&definition)
            || defined_by(cluster, &definition).is_some_and(|defined| !is_empty(cluster, &defined, None))
        {
            return;
        }
        let left: Vec<_> = metadata::finalizers(&definition).filter(|one| *one != CLEANUP).collect();
        let (is_removal, write) = match left.is_empty() {
            true => (true, Write::Remove(record.version())),
            false => {
                let mut next = definition.clone();
                metadata::of(&mut next).insert("finalizers".to_owned(), json!(left));
                let content = encode(&resource, record.key().clone(), next);
                if content.is_same(record.content()) {
                    return;
                }
                (false, Write::Replace(record.version(), content))
            }
        };
        if cluster.store.write(&CollectionId::from(resource.storage()), name, write).is_ok() {
            if is_removal {
                after_removing(cluster, &resource, &definition);
            }
            return;
        }
    }
}

/// Returns true if a resource has no objects, in a namespace or in all namespaces.
fn is_empty(cluster: &Cluster, resource: &Resource, namespace: Option<&str>) -> bool {
    let one = Span { limit: std::num::NonZeroU64::new(1), ..Span::default() };
    let page =
        cluster.store.list(&CollectionId::from(resource.storage()), &Selection::everything(namespace), &one);
    page.is_ok_and(|page| page.records.is_empty())
}

/// Removes a namespace that is being deleted, if it is empty.
pub(crate) fn finish_namespace(cluster: &Cluster, namespace: &str) {
    let is_ours = cluster.controllers == Controllers::BuiltIn;
    if !is_ours || readiness(cluster, namespace) != Readiness::Terminating {
        return;
    }
    let mut namespaced = cluster.stored().into_iter().filter(|resource| resource.is_namespaced());
    if namespaced.all(|resource| is_empty(cluster, &resource, Some(namespace)))
        && let Some(resource) = namespaces(cluster)
        && let Some((record, object)) = cluster.read(&resource, namespace)
        && metadata::finalizers(&object).next().is_none()
    {
        // A conflict is ignored: the other writer also calls this function.
        let _ = cluster.store.write(
            &CollectionId::from(resource.storage()),
            namespace,
            Write::Remove(record.version()),
        );
    }
}

fn defined_by(cluster: &Cluster, definition: &Value) -> Option<Arc<Resource>> {
    let text = |pointer| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let registry = cluster.registry();
    registry.preferred(text("/spec/group"), text("/spec/names/plural")).cloned()
}

fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}
