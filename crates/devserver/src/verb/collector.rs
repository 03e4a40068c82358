//! The garbage collector, which deletes or orphans the dependents of a deleted object.
//!
//! It runs within the request that deletes the owner, so that the dependents are deleted when the client
//! receives the response. In a cluster, kube-controller-manager deletes them later.

use crate::object::{
    deletion::{self, Decision, FOREGROUND, ORPHAN, Policy, Preconditions, Terms},
    metadata,
};
use crate::registry::Resource;
use crate::storage::{CollectionId, Record, Selection, Span, Write};
use crate::verb::clock::now;
use crate::verb::cluster::{Cluster, Controllers, encode};
use serde_json::{Value, json};
use std::sync::Arc;

/// An object with owner references.
struct Dependent {
    resource: Arc<Resource>,
    record: Record,
}

/// An object that the collector has removed.
#[derive(Debug)]
pub(crate) struct Removed {
    pub(crate) resource: Arc<Resource>,
    pub(crate) object: Value,
}

/// Deletes the dependents of deleted objects.
#[derive(Debug)]
pub(crate) struct Collector<'c> {
    cluster: &'c Cluster,
    removed: Vec<Removed>,
}

impl<'c> Collector<'c> {
    pub(crate) fn new(cluster: &'c Cluster) -> Self {
        Self { cluster, removed: Vec::new() }
    }

    /// Returns the removed objects.
    pub(crate) fn into_removed(self) -> Vec<Removed> {
        self.removed
    }

    /// Continues the deletion of an object that waits for the garbage collector.
    pub(crate) fn continue_deletion(&mut self, resource: &Arc<Resource>, key: &str) {
        if self.cluster.controllers == Controllers::None {
            return;
        }
        let Some((_, object)) = self.cluster.read(resource, key) else { return };
        if !metadata::is_deleting(&object) {
            return;
        }
        let uid = metadata::text(&object, "uid");
        if metadata::finalizers(&object).any(|one| one == ORPHAN) {
            for dependent in dependents(self.cluster, uid) {
                let key = dependent.record.key().as_str();
                self.edit(&dependent.resource, key, |object| remove_references(object, &[uid]));
            }
            self.drop_finalizer(resource, key, ORPHAN);
        } else if metadata::finalizers(&object).any(|one| one == FOREGROUND) {
            for dependent in dependents(self.cluster, uid) {
                if blocks(self.cluster, &dependent, uid) {
                    self.delete_dependent(&dependent, uid);
                }
            }
            if !has_blocking(self.cluster, uid) {
                self.drop_finalizer(resource, key, FOREGROUND);
            }
        }
    }

    /// Deletes the dependents of a removed object, and continues the deletion of owners that waited for it.
    pub(crate) fn after_removing(&mut self, object: &Value) {
        if self.cluster.controllers == Controllers::None {
            return;
        }
        let uid = metadata::text(object, "uid");
        for dependent in dependents(self.cluster, uid) {
            self.delete_dependent(&dependent, uid);
        }
        for owner in references(object) {
            if let Some(Owner { resource, key }) = find(self.cluster, owner, metadata::namespace(object)) {
                self.continue_deletion(&resource, &key);
            }
        }
    }

    /// Deletes a dependent of a removed object. If it has another owner that is not being deleted, only the
    /// owner reference is removed.
    fn delete_dependent(&mut self, dependent: &Dependent, gone: &str) {
        let (resource, key) = (&dependent.resource, dependent.record.key().as_str());
        let Some((_, object)) = self.cluster.read(resource, key) else { return };
        let (stay, go): (Vec<_>, Vec<_>) = references(&object)
            .filter(|owner| owner["uid"].as_str() != Some(gone))
            .partition(|owner| exists(self.cluster, owner, metadata::namespace(&object)));
        if stay.is_empty() {
            let policy = match has_blocking(self.cluster, metadata::text(&object, "uid")) {
                true => Policy::Foreground,
                false => Policy::Background,
            };
            return self.remove(resource, key, policy);
        }
        let gone: Vec<_> = go.iter().filter_map(|owner| owner["uid"].as_str()).chain([gone]).collect();
        self.edit(resource, key, |object| remove_references(object, &gone));
    }

    /// Deletes an object, or marks it as being deleted if it has finalizers.
    pub(crate) fn remove(&mut self, resource: &Arc<Resource>, key: &str, policy: Policy) {
        let collection = CollectionId::from(resource.storage());
        // If the object changes in the meantime, the deletion is decided again.
        while let Some((record, object)) = self.cluster.read(resource, key) {
            let terms = Terms::at_once(&object, policy);
            let write = match deletion::decide(&object, &Preconditions::default(), &terms, &now()) {
                Ok(Decision::Remove) => Write::Remove(record.version()),
                Ok(Decision::MarkDeleting(marked)) => {
                    Write::Replace(record.version(), encode(resource, record.key().clone(), marked))
                }
                Ok(Decision::AlreadyDeleting) | Err(_) => return,
            };
            let is_removal = matches!(write, Write::Remove(_));
            if self.cluster.store.write(&collection, key, write).is_ok() {
                return match is_removal {
                    true => self.object_removed(resource, object),
                    false => self.continue_deletion(resource, key),
                };
            }
        }
    }

    /// Changes an object, and removes it if no finalizer is left.
    fn edit(&mut self, resource: &Arc<Resource>, key: &str, change: impl Fn(&mut Value)) {
        let collection = CollectionId::from(resource.storage());
        while let Some((record, object)) = self.cluster.read(resource, key) {
            let mut next = object.clone();
            change(&mut next);
            let is_finished = deletion::is_finished(&next);
            let write = match is_finished {
                true => Write::Remove(record.version()),
                false => Write::Replace(record.version(), encode(resource, record.key().clone(), next)),
            };
            if self.cluster.store.write(&collection, key, write).is_ok() {
                if is_finished {
                    self.object_removed(resource, object);
                }
                return;
            }
        }
    }

    /// Records a removal and processes its effects.
    fn object_removed(&mut self, resource: &Arc<Resource>, object: Value) {
        self.after_removing(&object);
        self.removed.push(Removed { resource: Arc::clone(resource), object });
    }

    fn drop_finalizer(&mut self, resource: &Arc<Resource>, key: &str, finalizer: &str) {
        self.edit(resource, key, |object| {
            let left =
                json!(metadata::finalizers(object).filter(|one| *one != finalizer).collect::<Vec<_>>());
            metadata::of(object).insert("finalizers".to_owned(), left);
        });
    }
}

/// Returns every object that names an owner with this uid.
fn dependents(cluster: &Cluster, uid: &str) -> Vec<Dependent> {
    let mut found = Vec::new();
    if !cluster.store.may_own(uid) {
        return found;
    }
    for resource in cluster.stored() {
        let collection = CollectionId::from(resource.storage());
        let page = cluster.store.list(&collection, &Selection::everything(None), &Span::default());
        let records = page.map(|page| page.records).unwrap_or_default();
        let owned = records.into_iter().filter(|record| record.content().is_owned_by(uid));
        found.extend(owned.map(|record| Dependent { resource: Arc::clone(&resource), record }));
    }
    found
}

/// Returns true if a dependent blocks the deletion of its owner.
fn has_blocking(cluster: &Cluster, owner: &str) -> bool {
    dependents(cluster, owner).iter().any(|one| blocks(cluster, one, owner))
}

/// Returns true if an object blocks the deletion of its owner until it is removed.
fn blocks(cluster: &Cluster, dependent: &Dependent, owner: &str) -> bool {
    let found = cluster.read(&dependent.resource, dependent.record.key().as_str());
    found.is_some_and(|(_, object)| {
        references(&object).any(|one| one["uid"].as_str() == Some(owner) && one["blockOwnerDeletion"] == true)
    })
}

fn references(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

fn remove_references(object: &mut Value, owners: &[&str]) {
    let references = metadata::of(object).get_mut("ownerReferences").and_then(Value::as_array_mut);
    if let Some(references) = references {
        references.retain(|one| one["uid"].as_str().is_none_or(|uid| !owners.contains(&uid)));
    }
}

/// Returns true if an owner exists and is not waiting for the deletion of its dependents.
fn exists(cluster: &Cluster, owner: &Value, namespace: &str) -> bool {
    let Some(found) = find(cluster, owner, namespace) else { return false };
    cluster.read(&found.resource, &found.key).is_some_and(|(_, object)| {
        let waits =
            metadata::is_deleting(&object) && metadata::finalizers(&object).any(|one| one == FOREGROUND);
        Some(metadata::text(&object, "uid")) == owner["uid"].as_str() && !waits
    })
}

/// The location of an owner.
struct Owner {
    resource: Arc<Resource>,
    key: String,
}

/// Returns the location of an owner; `None` if its kind is not served.
fn find(cluster: &Cluster, owner: &Value, namespace: &str) -> Option<Owner> {
    let (kind, name) = (owner["kind"].as_str()?, owner["name"].as_str()?);
    let group = owner["apiVersion"].as_str()?.rsplit_once('/').map_or("", |(group, _)| group);
    let registry = cluster.registry();
    let resource = registry.resources().find(|one| one.kind == kind && one.group == group)?;
    let key = if resource.is_namespaced() { format!("{namespace}/{name}") } else { name.to_owned() };
    Some(Owner { resource: Arc::clone(resource), key })
}
