//! The served resources, by group, version and name.

use crate::invalid::FieldError;
use crate::registry::builtin::builtin;
use crate::registry::crd::{CrdError, NameConflict, from_crd};
use crate::registry::resource::Resource;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// The served resources: built-in ones, and those of custom resource definitions.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    groups: Vec<Group>,
}

/// An API group with its resources.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its name; empty for the core group.
    pub(crate) name: String,
    /// Its versions, the preferred one first, each with its resources in order of their names.
    pub(crate) versions: Vec<(String, Vec<Arc<Resource>>)>,
}

impl Registry {
    /// Creates a catalog of the built-in resources.
    pub(crate) fn new() -> Self {
        let mut registry = Self { groups: Vec::new() };
        builtin().into_iter().for_each(|resource| registry.insert(resource));
        registry
    }

    /// Returns the resource with this group, version and plural name.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let (_, resources) = self.group(group)?.versions.iter().find(|(name, _)| name == version)?;
        resources.iter().find(|resource| resource.plural == plural)
    }

    /// Returns the resource with this group and plural name, in the preferred version of the group.
    pub(crate) fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let mut resources = self.group(group)?.versions.iter().flat_map(|(_, resources)| resources);
        resources.find(|resource| resource.plural == plural)
    }

    /// Returns the group with this name.
    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Returns all groups: the core group, the built-in groups in the order of kube-apiserver, and the others by name.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns all resources in all versions.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups.iter().flat_map(|group| &group.versions).flat_map(|(_, resources)| resources)
    }

    /// Adds the resources of a definition, which replace those of its earlier state.
    ///
    /// # Errors
    /// Returns an error if the definition is invalid, or has the name of a built-in resource. The catalog is
    /// unchanged then.
    pub(crate) fn add_crd(&mut self, crd: &Value) -> Result<(), CrdError> {
        let resources = from_crd(crd)?;
        let [group, plural] = identity(crd);
        if self.resources().any(|one| !one.is_custom() && one.is(group, plural)) {
            let taken = FieldError::invalid("spec.names.plural", &json!(plural), "is already in use");
            return Err(CrdError { fields: vec![taken] });
        }
        self.remove_crd(crd);
        if self.name_conflict(crd).is_some() {
            return Ok(());
        }
        resources.into_iter().for_each(|resource| self.insert(resource));
        Ok(())
    }

    /// Returns a name of a definition that another definition of its group has; then it is not served.
    pub(crate) fn name_conflict(&self, crd: &Value) -> Option<NameConflict> {
        let [group, plural] = identity(crd);
        let others = self.resources().map(|one| &**one);
        let others = others.filter(|one| one.is_custom() && one.group == group && one.plural != plural);
        NameConflict::find(crd, &others.collect::<Vec<_>>())
    }

    /// Removes the resources of a definition.
    pub(crate) fn remove_crd(&mut self, crd: &Value) {
        let [group, plural] = identity(crd);
        let Some(place) = self.groups.iter().position(|one| one.name == group) else { return };
        let versions = &mut self.groups[place].versions;
        for (_, resources) in versions.iter_mut() {
            resources.retain(|one| !(one.is_custom() && one.plural == plural));
        }
        versions.retain(|(_, resources)| !resources.is_empty());
        if versions.is_empty() {
            self.groups.remove(place);
        }
    }

    /// Removes all resources that are not selected.
    pub(crate) fn retain(&mut self, is_served: impl Fn(&Resource) -> bool) {
        for group in &mut self.groups {
            for (_, resources) in &mut group.versions {
                resources.retain(|resource| is_served(resource));
            }
            group.versions.retain(|(_, resources)| !resources.is_empty());
        }
        self.groups.retain(|group| !group.versions.is_empty());
    }

    fn insert(&mut self, resource: Resource) {
        let place = self.place(&resource);
        let versions = &mut self.groups[place].versions;
        let known = versions.iter().position(|(name, _)| *name == resource.version);
        let known = known.unwrap_or_else(|| {
            let at = versions.partition_point(|(name, _)| priority(name) < priority(&resource.version));
            versions.insert(at, (resource.version.clone(), Vec::new()));
            at
        });
        let resources = &mut versions[known].1;
        let at = resources.partition_point(|one| one.plural < resource.plural);
        resources.insert(at, Arc::new(resource));
    }

    /// Returns the position of the group of a resource. The group is added if it does not exist.
    fn place(&mut self, resource: &Resource) -> usize {
        let known = self.groups.iter().position(|group| group.name == resource.group);
        known.unwrap_or_else(|| {
            let is_added = |group: &Group| group.versions[0].1.iter().all(|one| one.is_custom());
            let is_before = |group: &Group| !is_added(group) || group.name < resource.group;
            let at = self.groups.partition_point(is_before);
            self.groups.insert(at, Group { name: resource.group.clone(), versions: Vec::new() });
            at
        })
    }
}

/// Returns the group and the plural name of a definition.
fn identity(crd: &Value) -> [&str; 2] {
    let text = |pointer| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    [text("/spec/group"), text("/spec/names/plural")]
}

/// Returns the rank of a version: releases, betas, alphas, the higher first, then other names.
fn priority(version: &str) -> (u8, Reverse<u64>, Reverse<u64>, &str) {
    let Some((major, stage, minor)) = parsed(version) else { return (3, Reverse(0), Reverse(0), version) };
    (stage, Reverse(major), Reverse(minor), version)
}

/// Parses `v1`, `v1beta2` and `v1alpha3`.
fn parsed(version: &str) -> Option<(u64, u8, u64)> {
    let rest = version.strip_prefix('v')?;
    let (major, stage, minor) = match (rest.split_once("beta"), rest.split_once("alpha")) {
        (Some((major, minor)), _) => (major, 1, minor),
        (None, Some((major, minor))) => (major, 2, minor),
        (None, None) => (rest, 0, "1"),
    };
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0 && !text.starts_with('0'));
    Some((number(major)?, stage, number(minor)?))
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn versions_come_in_the_order_of_their_stability() {
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v01",
        ];
        let mut found = sorted;
        found.reverse();
        found.sort_by_key(|version| priority(version));
        assert_eq!(found, sorted);
    }
}
