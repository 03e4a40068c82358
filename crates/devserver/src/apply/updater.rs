//! Changes an object together with the ownership of its fields.

use crate::apply::{
    compare::{Comparison, compare},
    conflict::Contested,
    element::is_same,
    field_set::field_set,
    managers::{Manager, Managers, Owned},
    merge::merge,
    reconcile::reconcile,
    remove::remove,
    schema::{Schema, Type},
    set::FieldSet,
};
use serde_json::Value;
use std::collections::BTreeMap;

/// The rules for objects of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updater<'a> {
    pub(super) schema: &'a Schema,
    pub(super) kind: &'a str,
    /// The version of the request.
    pub(super) api_version: &'a str,
    /// Fields that a request cannot write, such as the status in a request for the object itself.
    pub(super) ignored: &'a FieldSet,
}

/// Controls whether a manager takes fields from other managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// The result of applying a configuration to an object.
#[derive(Debug)]
pub(super) struct Applied {
    /// The object; `None` if it did not change.
    pub(super) object: Option<Value>,
    pub(super) managers: Managers,
}

/// A configuration to apply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configuration<'a> {
    pub(super) value: &'a Value,
    pub(super) manager: &'a Manager,
    pub(super) force: Force,
}

/// An object before and after a change.
struct States<'a> {
    ty: Type<'a>,
    live: &'a Value,
    new: &'a Value,
}

/// The effect of a change on ownership.
struct Change {
    managers: Managers,
    comparison: Comparison,
    /// The fields that managers lost, because their values have changed.
    contested: Vec<Contested>,
}

impl<'a> Updater<'a> {
    /// Returns the type of objects in a version; `None` if the version is not served.
    pub(super) fn type_in(&self, api_version: &str) -> Option<Type<'a>> {
        self.schema.kind(api_version, self.kind)
    }

    /// Returns the managers after a change from one object to another, and the fields that the writer owns
    /// because of it.
    pub(super) fn update(&self, ty: Type<'_>, live: &Value, new: &Value, managers: &Managers) -> Updated {
        let states = States { ty, live, new };
        let Change { mut managers, comparison, .. } = self.change(&states, self.reconciled(managers), None);
        managers.drop_empty();
        let Comparison { modified, added, .. } = comparison;
        let set = modified.union(&added).recursive_difference(self.ignored);
        Updated { managers, set }
    }

    /// Applies a configuration to an object.
    ///
    /// # Errors
    /// Returns the conflicting fields of other managers, unless the apply is forced.
    pub(super) fn apply(
        &self,
        ty: Type<'_>,
        live: &Value,
        managers: &Managers,
        config: Configuration<'_>,
    ) -> Result<Applied, Vec<Contested>> {
        let mut managers = self.reconciled(managers);
        let merged = merge(ty, live, config.value);
        let set = field_set(ty, config.value).recursive_difference(self.ignored);
        let owned = Owned { set, api_version: self.api_version.to_owned(), time: None };
        let last = managers.0.insert(config.manager.clone(), owned);
        if let (Some(last), Some(now)) = (&last, managers.0.get_mut(config.manager)) {
            now.time.clone_from(&last.time);
        }
        let new = self.prune(merged, &managers, last);
        let states = States { ty, live, new: &new };
        let Change { mut managers, contested, .. } = self.change(&states, managers, Some(config.manager));
        if config.force == Force::No && !contested.is_empty() {
            return Err(contested);
        }
        managers.drop_empty();
        let object = (!is_same(live, &new)).then_some(new);
        Ok(Applied { object, managers })
    }

    /// Compares two states of an object, and removes changed and deleted fields from all managers except the
    /// writer.
    fn change(&self, states: &States<'_>, mut managers: Managers, writer: Option<&Manager>) -> Change {
        let States { ty, live, new } = *states;
        let own = compare(ty, live, new).without(self.ignored);
        let mut by_version = BTreeMap::from([(self.api_version.to_owned(), Some(own.clone()))]);
        let mut contested = Vec::new();
        let mut gone = Vec::new();
        for (manager, owned) in &mut managers.0 {
            if Some(manager) == writer {
                continue;
            }
            let in_version = by_version.entry(owned.api_version.clone()).or_insert_with(|| {
                Some(compare(self.type_in(&owned.api_version)?, live, new).without(self.ignored))
            });
            let Some(comparison) = in_version else {
                // The version is not served any more.
                gone.push(manager.clone());
                continue;
            };
            let taken = owned.set.intersection(&comparison.modified.union(&comparison.added));
            if !taken.is_empty() {
                let (manager, time) = (manager.clone(), owned.time.clone());
                let api_version = owned.api_version.clone();
                contested.push(Contested { manager, owned: Owned { set: taken.clone(), api_version, time } });
            }
            owned.set = owned.set.difference(&taken).difference(&comparison.removed);
        }
        managers.0.retain(|manager, _| !gone.contains(manager));
        Change { managers, comparison: own, contested }
    }

    /// Removes the fields that a manager applied before and does not apply any more, unless another manager
    /// owns them.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<Owned>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else { return merged };
        let Some(ty) = self.type_in(&last.api_version) else { return merged };
        let all = |set: &FieldSet| set.with_named_fields(Some(ty));
        let before = all(&last.set);
        let pruned = remove(ty, &merged, &before);
        let pruned = self.add_back_owned(&merged, pruned, managers, &last.api_version);
        // Only fields that this manager applied before are removed.
        let merged_fields = all(&field_set(ty, &merged));
        let pruned_fields = all(&field_set(ty, &pruned));
        remove(ty, &merged, &merged_fields.difference(&pruned_fields).intersection(&before))
    }

    /// Restores the removed fields that other managers own.
    fn add_back_owned(&self, merged: &Value, mut pruned: Value, managers: &Managers, first: &str) -> Value {
        let mut by_version: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in managers.0.values() {
            let set = by_version.entry(&owned.api_version).or_default();
            *set = set.union(&owned.set);
        }
        let own = by_version.remove_entry(first);
        for (version, owned) in own.into_iter().chain(by_version) {
            let Some(ty) = self.type_in(version) else { continue };
            let all = |set: &FieldSet| set.with_named_fields(Some(ty));
            let kept = all(&field_set(ty, &pruned)).union(&all(&owned));
            pruned = remove(ty, merged, &all(&field_set(ty, merged)).difference(&kept));
        }
        pruned
    }

    /// Adapts the managers to the current types, and removes those of versions that are not served.
    fn reconciled(&self, managers: &Managers) -> Managers {
        let adapt = |(manager, owned): (&Manager, &Owned)| {
            let set = reconcile(self.type_in(&owned.api_version)?, &owned.set);
            Some((manager.clone(), Owned { set, ..owned.clone() }))
        };
        Managers(managers.0.iter().filter_map(adapt).collect())
    }
}

/// The effect of a create or update on ownership.
#[derive(Debug)]
pub(super) struct Updated {
    /// The managers, without the fields that the writer owns because of the change.
    pub(super) managers: Managers,
    /// The fields that the writer owns because of the change.
    pub(super) set: FieldSet,
}
