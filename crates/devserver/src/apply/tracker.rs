//! Updates `metadata.managedFields` for all write requests.

use crate::apply::{
    conflict::{Conflict, Contested, conflicts},
    last_applied,
    managers::{Manager, Managers, ManagersError, Operation, Owned},
    schema::{Schema, Type},
    set::FieldSet,
    updater::{Applied, Configuration, Updated, Updater},
    validate::{Duplicates, TypeError, validate},
};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) use crate::apply::updater::Force;

/// The maximum number of separate managers with the operation `Update`.
const MOST_UPDATERS: usize = 10;
/// The manager of fields that existed before ownership was recorded.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The manager that receives the fields of the oldest `Update` managers when there are too many.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// The author and the time of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    /// The field manager.
    pub(crate) manager: &'a str,
    /// The written subresource; empty for the object itself.
    pub(crate) subresource: &'a str,
    /// The time, in the format of object metadata.
    pub(crate) now: &'a str,
}

/// Tracks the owners of the fields of objects of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Tracker<'a> {
    /// The types of the kind.
    pub(crate) schema: &'a Schema,
    /// The version of the request.
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    /// The fields that the request cannot write.
    pub(crate) ignored: FieldSet,
    /// An object of the kind without any fields.
    pub(crate) empty: &'a Value,
    pub(crate) writer: Writer<'a>,
}

/// Reports a configuration that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Other managers own fields that it would change: 409.
    #[error("{}", Conflict::message(.0))]
    Conflicts(Vec<Conflict>),
    /// It does not describe an object of this kind: 400.
    #[error("{0}")]
    Invalid(String),
    /// A field has the wrong type: 500, as in kube-apiserver.
    #[error("failed to create typed patch object: {0}")]
    Type(#[from] TypeError),
    /// The managed fields of the stored object are invalid: 500.
    #[error("failed to decode managed fields: {0}")]
    Managers(#[from] ManagersError),
}

impl<'a> Tracker<'a> {
    /// Records the owners of the fields of an object that is created, or changed by another operation than
    /// apply.
    ///
    /// `live` is the stored object, or [`Tracker::empty`] if there is none. If the object does not match its
    /// type, the ownership is discarded.
    pub(crate) fn update(&self, live: &Value, new: &mut Value) {
        let managers = self.managers_of_update(live, new);
        remove_managed_fields(new);
        // Objects without managers have none until a configuration is applied.
        let is_untracked = managers.0.is_empty() && !text(live, "/metadata/uid").is_empty();
        if is_untracked {
            return;
        }
        let mut live = live.clone();
        remove_managed_fields(&mut live);
        if let Some(managers) = self.updated(&live, new, &managers, self.writer.manager) {
            managers.write(new);
        }
    }

    /// Applies a configuration to an object; `live` is [`Tracker::empty`] if there is none.
    ///
    /// # Errors
    /// Returns an error if other managers own fields that the configuration changes and `force` is not set,
    /// or if the configuration does not match its type.
    pub(crate) fn apply(&self, live: &Value, config: &Value, force: Force) -> Result<Value, ApplyError> {
        let mut managers = Managers::of(live)?;
        let ty = self.check(config)?;
        let mut live = live.clone();
        remove_managed_fields(&mut live);
        if validate(ty, &live, Duplicates::Allowed).is_err() {
            // The schema has changed since the object was stored; fields that do not match it have no owner.
            managers = Managers::default();
        }
        if managers.0.is_empty() {
            managers = self.updated(self.empty, &live, &managers, BEFORE_FIRST_APPLY).unwrap_or_default();
        }
        let manager = Manager::applying(self.writer.manager, self.writer.subresource);
        let config_of = |force| Configuration { value: config, manager: &manager, force };
        let updater = self.updater();
        let applied = updater.apply(ty, &live, &managers, config_of(force)).or_else(|contested| {
            let allowed = self.allowed(ty, &live);
            let left = conflicts(&contested, &allowed);
            if left.is_empty() && allowed != FieldSet::default() {
                let forced = updater.apply(ty, &live, &managers, config_of(Force::Yes));
                return forced.map_err(|contested| ApplyError::Conflicts(all(&contested)));
            }
            Err(ApplyError::Conflicts(left))
        })?;
        Ok(self.finish(applied, &manager, live, config))
    }

    /// Writes the managers into the object after an apply.
    fn finish(&self, applied: Applied, manager: &Manager, live: Value, config: &Value) -> Value {
        let Applied { object, mut managers } = applied;
        if let Some(owned) = managers.0.get_mut(manager) {
            owned.set = owned.set.difference(&unowned());
            if object.is_some() {
                owned.time = Some(self.writer.now.to_owned());
            }
        }
        managers.drop_empty();
        let mut object = object.unwrap_or(live);
        if self.writer.manager == last_applied::KUBECTL {
            last_applied::record(&mut object, config);
        }
        managers.write(&mut object);
        object
    }

    /// Checks that a configuration describes an object of this kind.
    fn check(&self, config: &Value) -> Result<Type<'_>, ApplyError> {
        let text_of = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if text_of("apiVersion") != self.api_version || text_of("kind") != self.kind {
            let found = format!("{}, Kind={}", text_of("apiVersion"), text_of("kind"));
            let expected = format!("{}, Kind={}", self.api_version, self.kind);
            return Err(ApplyError::Invalid(format!("invalid object type: {found}; expected {expected}")));
        }
        if config.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
            return Err(ApplyError::Invalid("metadata.managedFields must be nil".to_owned()));
        }
        let ty = self.updater().type_in(self.api_version);
        let ty = ty.ok_or_else(|| ApplyError::Invalid(format!("no corresponding type for {}", self.kind)))?;
        validate(ty, config, Duplicates::Refused)?;
        Ok(ty)
    }

    /// Returns the fields that kubectl can take over, because its client-side apply set them.
    fn allowed(&self, ty: Type<'_>, live: &Value) -> FieldSet {
        if self.writer.manager != last_applied::KUBECTL {
            return FieldSet::default();
        }
        last_applied::owned(ty, self.api_version, live).unwrap_or_default()
    }

    /// Returns the managers after a change by `name`; `None` if an object does not match its type.
    fn updated(&self, live: &Value, new: &Value, managers: &Managers, name: &str) -> Option<Managers> {
        let updater = self.updater();
        let ty = updater.type_in(self.api_version)?;
        validate(ty, new, Duplicates::Allowed).ok()?;
        validate(ty, live, Duplicates::Allowed).ok()?;
        let Updated { mut managers, set } = updater.update(ty, live, new, managers);
        let set = set.difference(&unowned());
        if !set.is_empty() {
            let manager = Manager::updating(name, self.api_version, self.writer.subresource);
            let set = managers.0.get(&manager).map_or(set.clone(), |before| set.union(&before.set));
            let (api_version, time) = (self.api_version.to_owned(), Some(self.writer.now.to_owned()));
            managers.0.insert(manager, Owned { set, api_version, time });
        }
        cap_updaters(&mut managers);
        Some(managers)
    }

    /// Returns the managers before an update. A client can write managed fields, except through a
    /// subresource.
    fn managers_of_update(&self, live: &Value, new: &Value) -> Managers {
        if self.writer.subresource.is_empty() {
            if is_reset(new) {
                return Managers::default();
            }
            if let Some(managers) = Managers::of(new).ok().filter(|managers| !managers.0.is_empty()) {
                return managers;
            }
        }
        Managers::of(live).unwrap_or_default()
    }

    fn updater(&self) -> Updater<'_> {
        let Self { schema, kind, api_version, ignored, .. } = self;
        Updater { schema, kind, api_version, ignored }
    }
}

fn all(contested: &[Contested]) -> Vec<Conflict> {
    conflicts(contested, &FieldSet::default())
}

/// Returns the fields without owners: those that identify an object and those that the server writes.
fn unowned() -> FieldSet {
    FieldSet::of(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

/// Returns true if a client resets the managers, with an empty list or a list of one empty entry.
fn is_reset(new: &Value) -> bool {
    match new.pointer("/metadata/managedFields").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => true,
        Some([one]) => one.as_object().is_some_and(serde_json::Map::is_empty),
        Some(_) | None => false,
    }
}

fn remove_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Merges the oldest `Update` managers until their number is within the limit.
fn cap_updaters(managers: &mut Managers) {
    let updaters = managers.0.iter().filter(|(manager, _)| manager.operation == Operation::Update);
    let mut oldest: Vec<_> = updaters.map(|(manager, owned)| (owned.time.clone(), manager.clone())).collect();
    let mut count = oldest.len();
    oldest.sort();
    let mut first_of_version: BTreeMap<String, Manager> = BTreeMap::new();
    for (time, manager) in oldest {
        if count <= MOST_UPDATERS {
            break;
        }
        let Some(owned) = managers.0.get(&manager).cloned() else { continue };
        let version = owned.api_version.clone();
        let Some(first) = first_of_version.get(&version) else {
            first_of_version.insert(version, manager);
            continue;
        };
        let bucket = Manager::updating(ANCIENT_CHANGES, &version, "");
        if !managers.0.contains_key(&bucket)
            && let Some(owned) = managers.0.remove(first)
        {
            managers.0.insert(bucket.clone(), owned);
        }
        managers.0.remove(&manager);
        if let Some(joined) = managers.0.get_mut(&bucket) {
            joined.set = joined.set.union(&owned.set);
            joined.time = time;
        }
        count -= 1;
    }
}
