//! A structural schema, read from the OpenAPI schema in a CustomResourceDefinition.

use crate::structural::format::Format;
use crate::structural::rule::Rule;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema of one value of a custom resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Structural {
    /// The names of the allowed JSON types; empty if all types are allowed.
    pub(crate) types: Vec<String>,
    /// The format, if it is validated.
    pub(crate) format: Option<Format>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Self>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(crate) preserves_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub(crate) is_embedded: bool,
    pub(crate) list_type: ListType,
    pub(crate) limits: Limits,
    pub(crate) all_of: Vec<Self>,
    pub(crate) any_of: Vec<Self>,
    pub(crate) one_of: Vec<Self>,
    pub(crate) not: Option<Box<Self>>,
    /// `x-kubernetes-validations`.
    pub(crate) rules: Vec<Rule>,
}

/// The schema of the fields that are not among the properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Additional {
    /// The schema does not specify them.
    #[default]
    Unspecified,
    /// They can have any value.
    Any,
    /// They are forbidden.
    Forbidden,
    /// Each of them has this schema.
    Schema(Box<Structural>),
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    /// A list in which the fields with these names are the key.
    Map(Vec<String>),
}

/// Restrictions of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) required: Vec<String>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
}

/// The limit of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) is_exclusive: bool,
}

/// A regular expression that must match a part of a text.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(pub(crate) Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Structural {
    /// Reads a schema. Invalid parts are ignored; [`schema_errors`](crate::structural::schema_errors) reports
    /// them.
    pub(crate) fn new(openapi: &Value) -> Self {
        let is_int_or_string = is_true(openapi, "x-kubernetes-int-or-string");
        let types = match openapi["type"].as_str().filter(|name| !name.is_empty()) {
            _ if is_int_or_string => vec!["integer".to_owned(), "string".to_owned()],
            Some(name) => vec![name.to_owned()],
            None => Vec::new(),
        };
        let properties = openapi["properties"].as_object().into_iter().flatten();
        let rules = openapi["x-kubernetes-validations"].as_array().into_iter().flatten();
        Self {
            format: openapi["format"].as_str().and_then(|format| Format::of(&types, format)),
            types,
            nullable: is_true(openapi, "nullable"),
            default: openapi.get("default").filter(|default| !default.is_null()).cloned(),
            properties: properties.map(|(name, schema)| (name.clone(), Self::new(schema))).collect(),
            additional: match openapi.get("additionalProperties") {
                None | Some(Value::Null) => Additional::Unspecified,
                Some(Value::Bool(true)) => Additional::Any,
                Some(Value::Bool(false)) => Additional::Forbidden,
                Some(schema) => Additional::Schema(Box::new(Self::new(schema))),
            },
            items: openapi
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(Self::new(items))),
            preserves_unknown: is_true(openapi, "x-kubernetes-preserve-unknown-fields"),
            is_embedded: is_true(openapi, "x-kubernetes-embedded-resource"),
            list_type: match openapi["x-kubernetes-list-type"].as_str() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(texts(&openapi["x-kubernetes-list-map-keys"])),
                Some(_) | None => ListType::Atomic,
            },
            limits: Limits::new(openapi),
            all_of: all(&openapi["allOf"]),
            any_of: all(&openapi["anyOf"]),
            one_of: all(&openapi["oneOf"]),
            not: openapi.get("not").filter(|not| not.is_object()).map(|not| Box::new(Self::new(not))),
            rules: rules.filter_map(Rule::new).collect(),
        }
    }

    /// Returns the schema of a field of an object; `None` if there is none.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional {
            Additional::Schema(schema) => Some(schema),
            Additional::Unspecified | Additional::Any | Additional::Forbidden => None,
        })
    }

    /// Returns true if values can have a type.
    pub(crate) fn allows_type(&self, name: &str) -> bool {
        self.types.iter().any(|known| known == name)
    }
}

impl Limits {
    fn new(openapi: &Value) -> Self {
        let number = |name: &str| openapi[name].as_u64();
        let bound = |name: &str, exclusive: &str| {
            openapi[name].as_f64().map(|value| Bound { value, is_exclusive: is_true(openapi, exclusive) })
        };
        let pattern = openapi["pattern"].as_str().filter(|pattern| !pattern.is_empty());
        Self {
            required: texts(&openapi["required"]),
            allowed: openapi["enum"].as_array().cloned().unwrap_or_default(),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple_of: openapi["multipleOf"].as_f64(),
            min_length: number("minLength"),
            max_length: number("maxLength"),
            pattern: pattern.and_then(|pattern| Regex::new(pattern).ok()).map(Pattern),
            min_items: number("minItems"),
            max_items: number("maxItems"),
            min_properties: number("minProperties"),
            max_properties: number("maxProperties"),
        }
    }
}

fn all(schemas: &Value) -> Vec<Structural> {
    schemas.as_array().into_iter().flatten().map(Structural::new).collect()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_true(openapi: &Value, name: &str) -> bool {
    openapi.get(name) == Some(&Value::Bool(true))
}
