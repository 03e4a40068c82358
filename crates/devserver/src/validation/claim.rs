//! Claims of volumes, also in templates.

use crate::validation::field::{Errors, Field};
use crate::validation::{resources, selector};
use serde_json::Value;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Checks the spec of a claim.
pub(super) fn check_spec(e: &mut Errors, spec: &Field<'_, '_>) {
    let modes = spec.get("accessModes");
    if modes.is_empty() {
        e.required(&modes, "at least 1 access mode is required");
    }
    selector::check(e, &spec.get("selector"));
    modes.items().for_each(|mode| e.known(&mode, &ACCESS_MODES));
    let is_single = |mode: Field<'_, '_>| mode.text() == "ReadWriteOncePod";
    if modes.items().any(is_single) && modes.items().any(|mode| !is_single(mode)) {
        e.forbidden(&modes, "may not use ReadWriteOncePod with other access modes");
    }
    let resources = spec.get("resources");
    let requests = resources.get("requests");
    let storage = requests.key("storage");
    if !storage.is_set() {
        e.required(&resources.key("storage"), "");
    } else if resources::amount(&storage) <= 0 {
        e.invalid(&storage, "must be greater than zero");
    }
    e.optional_subdomain(&spec.get("storageClassName"));
    e.optional_one_of(&spec.get("volumeMode"), &["Block", "Filesystem"]);
    let (source, reference) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    if reference.is_set() {
        check_source(e, &reference);
    }
    // The server drops other sources than claims and snapshots, and namespaces of sources.
    let group = source.get("apiGroup").text();
    let is_kept = matches!(
        (group, source.get("kind").text()),
        ("", "PersistentVolumeClaim") | (SNAPSHOTS, "VolumeSnapshot")
    );
    if source.is_set() && is_kept {
        check_source(e, &source);
    }
    if source.is_set() && is_kept && reference.is_set() {
        let part = |field: &Field<'_, '_>| {
            ["apiGroup", "kind", "name"].map(|name| field.value().get(name).cloned().unwrap_or_default())
        };
        if part(&source) != part(&reference) {
            e.invalid(&source, "must match dataSourceRef");
        }
    }
    e.optional_subdomain(&spec.get("volumeAttributesClassName"));
}

fn check_source(e: &mut Errors, source: &Field<'_, '_>) {
    e.present(&source.get("name"));
    e.present(&source.get("kind"));
    let group = source.get("apiGroup");
    if group.is_empty() && source.get("kind").text() != "PersistentVolumeClaim" {
        e.invalid(source, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
    e.optional_subdomain(&group);
}

/// Checks what an update of a claim changes.
pub(super) fn check_update(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let (old_spec, spec) = (old.get("spec"), new.get("spec"));
    let class = |object: &Field<'_, '_>| {
        object.get("metadata").get("annotations").value().get(BETA_CLASS).cloned().unwrap_or_default()
    };
    let (old_class, new_class) = (class(old), class(new));
    let name = spec.get("storageClassName");
    let is_first_class = !old_spec.get("storageClassName").is_set() && name.is_set();
    let may_set_class = is_first_class && (old_class.is_null() || old_class == *name.value());
    if old_class != new_class && !(may_set_class && !old_class.is_null() && new_class.is_null()) {
        let metadata = new.get("metadata");
        let annotations = metadata.get("annotations");
        e.invalid(&annotations.key(BETA_CLASS), "field is immutable");
    }
    let is_bound = old.get("status").get("phase").text() == "Bound";
    let mut changed = spec.value().clone();
    let mut keep = |pointer: &str| {
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let before = old_spec.value().pointer(pointer).cloned();
        if let Some(Value::Object(fields)) = changed.pointer_mut(parent) {
            match before {
                Some(before) => drop(fields.insert(name.to_owned(), before)),
                None => drop(fields.remove(name)),
            }
        }
    };
    if old_spec.get("volumeName").is_empty() {
        keep("/volumeName");
    }
    if may_set_class {
        keep("/storageClassName");
    }
    if is_bound {
        keep("/resources/requests/storage");
        keep("/volumeAttributesClassName");
    }
    if changed != *old_spec.value() {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
            bound claims";
        e.forbidden(&spec, detail);
    }
    check_size(e, old, new);
}

fn check_size(e: &mut Errors, old: &Field<'_, '_>, new: &Field<'_, '_>) {
    let size = |object: &Field<'_, '_>| {
        let spec = object.get("spec");
        resources::amount(&spec.get("resources").get("requests").key("storage"))
    };
    let capacity = resources::amount(&old.get("status").get("capacity").key("storage"));
    if size(new) < size(old) && size(new) <= capacity {
        let spec = new.get("spec");
        let resources = spec.get("resources");
        let requests = resources.get("requests");
        e.forbidden(&requests.get("storage"), "field can not be less than status.capacity");
    }
}
