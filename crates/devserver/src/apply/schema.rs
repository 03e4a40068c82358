//! The types of values, with the information that merging needs.

use serde_json::Value;
use std::collections::BTreeMap;

/// The types of one or more kinds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Schema {
    /// The schema with the first types. The types of a custom resource refer to the metadata types of the
    /// built-in schema.
    pub(super) base: Option<&'static Schema>,
    pub(super) types: Vec<TypeDef>,
    /// The type of each kind, by `apiVersion` and kind.
    pub(super) kinds: BTreeMap<String, TypeId>,
}

/// The position of a type in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) usize);

/// A type, and its name if it is a named type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypeDef {
    pub(super) atom: Atom,
    pub(super) name: Option<Box<str>>,
}

/// The shapes that a type allows: a scalar, a list, a map, or several of them for values of any type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Atom {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<List>,
    pub(super) map: Option<Map>,
}

/// Types without parts, as known to the merge algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Any scalar.
    Untyped,
}

/// A list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct List {
    pub(super) element: TypeId,
    pub(super) relation: Relation,
}

/// The granularity of ownership in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The list has one owner.
    Atomic,
    /// Each value has its own owners.
    Set,
    /// Each item has its own owners, and is identified by the values of these fields.
    Keyed(Vec<String>),
}

/// A struct, a map, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Map {
    pub(super) fields: BTreeMap<String, Field>,
    /// The type of entries that are not among the fields; `None` if no other entries are allowed.
    pub(super) element: Option<TypeId>,
    /// True if the map has one owner.
    pub(super) is_atomic: bool,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(super) ty: TypeId,
    /// The value that is assumed if the field is absent.
    pub(super) default: Option<Value>,
}

/// A type together with the schema that it is part of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'s> {
    schema: &'s Schema,
    id: TypeId,
}

impl Schema {
    /// Creates a schema whose types can refer to those of another.
    pub(super) fn based_on(base: &'static Schema) -> Self {
        Self { base: Some(base), ..Self::default() }
    }

    /// Returns the type of a kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<Type<'_>> {
        let id = *self.kinds.get(&format!("{api_version} {kind}"))?;
        Some(Type { schema: self, id })
    }

    /// Adds a type.
    pub(super) fn add(&mut self, def: TypeDef) -> TypeId {
        self.types.push(def);
        TypeId(self.inherited() + self.types.len() - 1)
    }

    fn inherited(&self) -> usize {
        self.base.map_or(0, |base| base.types.len())
    }

    fn def(&self, id: TypeId) -> &TypeDef {
        match self.base {
            Some(base) if id.0 < base.types.len() => base.def(id),
            _ => &self.types[id.0 - self.inherited()],
        }
    }
}

impl<'s> Type<'s> {
    /// Returns the shapes that this type allows.
    pub(super) fn atom(self) -> &'s Atom {
        &self.schema.def(self.id).atom
    }

    /// Returns the name of the type, if it has one.
    pub(super) fn name(self) -> Option<&'s str> {
        self.schema.def(self.id).name.as_deref()
    }

    /// Returns another type of the same schema.
    pub(super) fn at(self, id: TypeId) -> Self {
        Self { id, ..self }
    }

    /// Returns true if values can have any type, which is determined for each value.
    fn is_deduced(self) -> bool {
        let def = self.schema.def(self.id);
        let is_untyped = def.atom.scalar == Some(Scalar::Untyped);
        let separable = def.atom.map.as_ref().is_some_and(|map| !map.is_atomic && map.fields.is_empty());
        is_untyped && (def.name.is_none() || separable)
    }

    /// Returns true if the map holds values of any type and has no fields.
    pub(super) fn is_untyped_map(self, map: &Map) -> bool {
        map.fields.is_empty() && map.element.is_some_and(|element| self.at(element).is_deduced())
    }
}

/// Returns the type of the entry of a map or struct with this name.
pub(super) fn struct_field<'s>(ty: Type<'s>, name: &str) -> Option<Type<'s>> {
    let map = ty.atom().map.as_ref()?;
    let id = map.fields.get(name).map(|field| field.ty).or(map.element)?;
    Some(ty.at(id))
}

/// The shapes of a type that are possible for a known value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shapes {
    pub(super) scalar: bool,
    pub(super) list: bool,
    pub(super) map: bool,
}

/// The shape as which a value is processed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    Scalar(Scalar),
    List(&'s List),
    Map(&'s Map),
}

impl Atom {
    /// Returns the shapes that a value can have. All shapes are possible for null, for an absent value, and
    /// for a value that is not allowed.
    pub(super) fn shapes(&self, value: Option<&Value>) -> Shapes {
        let none = Shapes { scalar: false, list: false, map: false };
        match value {
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) if self.scalar.is_some() => {
                Shapes { scalar: true, ..none }
            }
            Some(Value::Array(_)) if self.list.is_some() => Shapes { list: true, ..none },
            Some(Value::Object(_)) if self.map.is_some() => Shapes { map: true, ..none },
            _ => {
                let (scalar, list, map) = (self.scalar.is_some(), self.list.is_some(), self.map.is_some());
                Shapes { scalar, list, map }
            }
        }
    }

    /// Returns the shape that is used if several are possible.
    pub(super) fn shape(&self, shapes: Shapes) -> Shape<'_> {
        match (&self.map, self.scalar, &self.list) {
            (Some(map), ..) if shapes.map => Shape::Map(map),
            (_, Some(scalar), _) if shapes.scalar => Shape::Scalar(scalar),
            (.., Some(list)) => Shape::List(list),
            (Some(map), ..) => Shape::Map(map),
            (None, scalar, None) => Shape::Scalar(scalar.unwrap_or(Scalar::Untyped)),
        }
    }
}
