//! Sets of fields.

use crate::apply::{
    element::Element,
    schema::{Type, struct_field},
};
use std::collections::{BTreeMap, BTreeSet};

/// A set of paths to fields.
///
/// A path in the set does not imply its parents or children: a manager can own a list item without the fields
/// of the item, and the fields without the item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// The last elements of the paths that end at this node.
    pub(super) members: BTreeSet<Element>,
    /// The longer paths, by their next element.
    pub(super) children: BTreeMap<Element, FieldSet>,
}

impl FieldSet {
    /// Creates a set of paths that have only field names.
    pub(crate) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path, which denotes the entire object, is ignored, because objects have no
    /// owner.
    pub(super) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Returns true if the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Returns true if the set contains a path.
    pub(super) fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// Returns the remainders of the paths that start with an element; `None` if there are none.
    pub(super) fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element).filter(|child| !child.is_empty())
    }

    /// Returns the paths that are in either set.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.members.extend(other.members.iter().cloned());
        for (element, theirs) in &other.children {
            let ours = union.children.entry(element.clone()).or_default();
            *ours = ours.union(theirs);
        }
        union
    }

    /// Returns the paths that are in both sets.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let both = |(element, ours): (&Element, &Self)| {
            let both = ours.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        };
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(both).collect(),
        }
    }

    /// Returns the paths that are not in the other set.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let left = |(element, ours): (&Element, &Self)| {
            let left = match other.children.get(element) {
                Some(theirs) => ours.difference(theirs),
                None => ours.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// Returns the paths that are not in the other set and have no parent in it.
    pub(crate) fn recursive_difference(&self, other: &Self) -> Self {
        let left = |(element, ours): (&Element, &Self)| {
            if other.members.contains(element) {
                return None;
            }
            let left = match other.children.get(element) {
                Some(theirs) => ours.recursive_difference(theirs),
                None => ours.clone(),
            };
            (!left.is_empty()).then(|| (element.clone(), left))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// Adds the struct fields that are parents of each path. Map entries and list items are not added.
    pub(super) fn with_named_fields(&self, ty: Option<Type<'_>>) -> Self {
        let map = ty.and_then(|ty| ty.atom().map.as_ref());
        let is_named = |element: &&Element| {
            element.as_field().is_some_and(|name| map.is_some_and(|map| map.fields.contains_key(name)))
        };
        let mut members = self.members.clone();
        members.extend(self.children.keys().filter(is_named).cloned());
        let child = |(element, child): (&Element, &Self)| {
            let inner = match element {
                Element::Field(name) => ty.and_then(|ty| struct_field(ty, name)),
                Element::Key(_) => ty.and_then(|ty| Some(ty.at(ty.atom().list.as_ref()?.element))),
                Element::Value(_) | Element::Index(_) => None,
            };
            (element.clone(), child.with_named_fields(inner))
        };
        Self { members, children: self.children.iter().map(child).collect() }
    }

    /// Returns all paths; shorter paths precede their extensions.
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for member in &self.members {
            paths.push(prefix.iter().chain([member]).cloned().collect());
        }
        for (element, child) in &self.children {
            prefix.push(element.clone());
            child.collect(prefix, paths);
            prefix.pop();
        }
    }
}
