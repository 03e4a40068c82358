//! Adapts ownership to a type that has become atomic since the ownership was recorded.

use crate::apply::{
    element::Element,
    schema::{Relation, Shape, Type, struct_field},
    set::FieldSet,
};

/// Replaces the owned parts of atomic values by the values themselves.
pub(super) fn reconcile(ty: Type<'_>, set: &FieldSet) -> FieldSet {
    let mut walk = Walk { atomic: FieldSet::default(), path: Vec::new() };
    walk.node(ty, Some(set), false);
    if walk.atomic.is_empty() {
        return set.clone();
    }
    set.recursive_difference(&walk.atomic).union(&walk.atomic)
}

struct Walk {
    /// The paths of atomic values with owned parts.
    atomic: FieldSet,
    path: Vec<Element>,
}

impl Walk {
    fn node(&mut self, ty: Type<'_>, set: Option<&FieldSet>, is_whole: bool) {
        let atom = ty.atom();
        match atom.shape(atom.shapes(None)) {
            Shape::Scalar(_) => {}
            Shape::Map(map) if ty.is_untyped_map(map) => {}
            Shape::Map(map) if map.is_atomic && !is_whole => {
                if set.is_some_and(|set| !set.is_empty()) {
                    self.atomic.insert(&self.path);
                }
            }
            Shape::List(list) if list.relation == Relation::Atomic && !is_whole => {
                self.atomic.insert(&self.path);
            }
            Shape::Map(_) => {
                let Some(set) = set else { return };
                self.parts(set, |element| match element {
                    Element::Field(name) => struct_field(ty, name),
                    Element::Key(_) | Element::Value(_) | Element::Index(_) => None,
                });
            }
            Shape::List(list) => {
                let Some(set) = set else { return };
                self.parts(set, |_| Some(ty.at(list.element)));
            }
        }
    }

    fn parts<'t>(&mut self, set: &FieldSet, ty: impl Fn(&Element) -> Option<Type<'t>>) {
        let only_above = set.children.keys().filter(|element| !set.members.contains(*element));
        let elements: Vec<_> = only_above.chain(&set.members).collect();
        for element in elements {
            let Some(ty) = ty(element) else { continue };
            let below = set.children.get(element);
            let is_whole = set.members.contains(element) && below.is_none();
            self.path.push(element.clone());
            self.node(ty, below, is_whole);
            self.path.pop();
        }
    }
}
