//! The merge schema of custom resources, built from the OpenAPI schema in their definition.

use crate::apply::{
    schema::{Atom, Field, List, Map, Relation, Scalar, Schema, TypeDef, TypeId},
    table::{OBJECT_META, UNTYPED_ATOMIC, UNTYPED_DEDUCED, built_in, named},
};
use serde_json::Value;

/// One version of a custom resource.
#[derive(Clone, Debug)]
pub(crate) struct Version<'d> {
    /// The `apiVersion` of its objects.
    pub(crate) api_version: String,
    /// The `openAPIV3Schema` of the definition; without one, each field is owned separately and lists are
    /// atomic.
    pub(crate) openapi: Option<&'d Value>,
}

/// Builds the schema of a kind in all its versions from its definition.
pub(crate) fn from_openapi<'d>(kind: &str, versions: impl IntoIterator<Item = Version<'d>>) -> Schema {
    let mut conversion = Conversion { schema: Schema::based_on(built_in()), preserves: false };
    for version in versions {
        let id = match version.openapi {
            Some(openapi) => conversion.root(openapi),
            None => named(UNTYPED_DEDUCED),
        };
        conversion.schema.kinds.insert(format!("{} {kind}", version.api_version), id);
    }
    conversion.schema
}

struct Conversion {
    schema: Schema,
    /// True if an enclosing schema preserves unknown fields.
    preserves: bool,
}

impl Conversion {
    /// Adds the schema of an object. The schema of its metadata is that of all kinds, regardless of the
    /// definition.
    fn root(&mut self, openapi: &Value) -> TypeId {
        self.preserves = false;
        let mut atom = self.atom(openapi);
        let mut map = atom.map.take().unwrap_or_default();
        self.add_object_fields(&mut map);
        if map.element.is_some_and(|element| element == named(UNTYPED_DEDUCED)) && !self.allows_more(openapi)
        {
            map.element = None;
        }
        self.schema.add(TypeDef { atom: Atom { map: Some(map), ..Atom::default() }, name: None })
    }

    fn add_object_fields(&mut self, map: &mut Map) {
        for name in ["apiVersion", "kind"] {
            let atom = Atom { scalar: Some(Scalar::String), ..Atom::default() };
            let ty = self.schema.add(TypeDef { atom, name: None });
            map.fields.insert(name.to_owned(), Field { ty, default: None });
        }
        map.fields.insert("metadata".to_owned(), Field { ty: named(OBJECT_META), default: None });
    }

    fn allows_more(&self, openapi: &Value) -> bool {
        is_true(openapi, "x-kubernetes-preserve-unknown-fields")
            || openapi.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false))
    }

    fn reference(&mut self, openapi: &Value) -> TypeId {
        let preserves = self.preserves;
        let atom = self.atom(openapi);
        self.preserves = preserves;
        self.schema.add(TypeDef { atom, name: None })
    }

    fn atom(&mut self, openapi: &Value) -> Atom {
        self.preserves |= is_true(openapi, "x-kubernetes-preserve-unknown-fields");
        let scalar = |scalar| Atom { scalar: Some(scalar), ..Atom::default() };
        let is_int_or_string = is_true(openapi, "x-kubernetes-int-or-string");
        match openapi.get("type").and_then(Value::as_str).unwrap_or_default() {
            "object" => Atom { map: Some(self.map(openapi)), ..Atom::default() },
            "array" => Atom { list: Some(self.list(openapi)), ..Atom::default() },
            "integer" | "number" => scalar(Scalar::Numeric),
            "boolean" => scalar(Scalar::Boolean),
            "string" => match openapi.get("format").and_then(Value::as_str).unwrap_or_default() {
                "" | "byte" => scalar(Scalar::String),
                _ => scalar(Scalar::Untyped),
            },
            _ => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list(openapi)),
                map: Some(if is_int_or_string { self.free_map() } else { self.map(openapi) }),
            },
        }
    }

    fn free_map(&self) -> Map {
        Map { element: Some(named(UNTYPED_DEDUCED)), ..Map::default() }
    }

    fn map(&mut self, openapi: &Value) -> Map {
        let properties = openapi.get("properties").and_then(Value::as_object);
        let mut map = Map::default();
        for (name, property) in properties.into_iter().flatten() {
            let ty = self.reference(property);
            let default = property.get("default").cloned();
            map.fields.insert(name.clone(), Field { ty, default });
        }
        if is_true(openapi, "x-kubernetes-embedded-resource") {
            self.add_object_fields(&mut map);
        }
        map.element = match openapi.get("additionalProperties") {
            None if self.preserves || map.fields.is_empty() => Some(named(UNTYPED_DEDUCED)),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(named(UNTYPED_DEDUCED)),
            Some(element) => Some(self.reference(element)),
        };
        map.is_atomic = text(openapi, "x-kubernetes-map-type") == "atomic";
        map
    }

    fn list(&mut self, openapi: &Value) -> List {
        let element = match openapi.get("items") {
            Some(items) => self.reference(items),
            None => named(UNTYPED_ATOMIC),
        };
        let relation = match text(openapi, "x-kubernetes-list-type") {
            "set" => Relation::Set,
            "map" => {
                let keys = openapi.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                Relation::Keyed(keys.map(str::to_owned).collect())
            }
            _ => Relation::Atomic,
        };
        List { element, relation }
    }
}

fn is_true(openapi: &Value, name: &str) -> bool {
    openapi.get(name) == Some(&Value::Bool(true))
}

fn text<'a>(openapi: &'a Value, name: &str) -> &'a str {
    openapi.get(name).and_then(Value::as_str).unwrap_or_default()
}
