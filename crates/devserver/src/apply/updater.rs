//! Changes ownership together with the object.

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

/// The rules for the objects of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Updater<'a> {
    pub(super) schema: &'a Schema,
    pub(super) kind: &'a str,
    /// The version of the request.
    pub(super) api_version: &'a str,
    /// Fields that a request cannot write, such as the status in a request for the object itself.
    pub(super) ignored: &'a FieldSet,
}

/// Whether a manager takes fields from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Yes,
    No,
}

/// What an applied configuration makes of an object.
#[derive(Debug)]
pub(super) struct Applied {
    /// The object; `None` if it stays the same.
    pub(super) object: Option<Value>,
    pub(super) managers: Managers,
}

/// A configuration that is applied.
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

/// What a change means for ownership.
struct Change {
    managers: Managers,
    comparison: Comparison,
    /// What was taken from managers because its value has changed.
    contested: Vec<Contested>,
}

impl<'a> Updater<'a> {
    /// Returns the type of objects in a version, if it is served.
    pub(super) fn type_in(&self, api_version: &str) -> Option<Type<'a>> {
        self.schema.kind(api_version, self.kind)
    }

    /// Returns the managers after a change from one object to another, and the fields that the writer owns by it.
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
    /// The fields of others that it would change, if it is not forced.
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

    /// Compares two states of an object, and takes from all managers but the writer the fields that have changed or gone.
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

    /// Removes what a manager applied before and does not apply any more, unless another one owns it.
    fn prune(&self, merged: Value, managers: &Managers, last: Option<Owned>) -> Value {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else { return merged };
        let Some(ty) = self.type_in(&last.api_version) else { return merged };
        let all = |set: &FieldSet| set.with_named_fields(Some(ty));
        let before = all(&last.set);
        let pruned = remove(ty, &merged, &before);
        let pruned = self.add_back_owned(&merged, pruned, managers, &last.api_version);
        // Only what this manager applied before goes.
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

    /// Adapts the managers to the types of today, and drops those of versions that are not served.
    fn reconciled(&self, managers: &Managers) -> Managers {
        let adapt = |(manager, owned): (&Manager, &Owned)| {
            let set = reconcile(self.type_in(&owned.api_version)?, &owned.set);
            Some((manager.clone(), Owned { set, ..owned.clone() }))
        };
        Managers(managers.0.iter().filter_map(adapt).collect())
    }
}

/// What a change that is not applied means for ownership.
#[derive(Debug)]
pub(super) struct Updated {
    /// The managers, without what the writer owns by the change.
    pub(super) managers: Managers,
    /// The fields that the writer owns by the change.
    pub(super) set: FieldSet,
}
