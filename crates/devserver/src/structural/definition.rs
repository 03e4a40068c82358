//! The rules for the schema in a CustomResourceDefinition.

use crate::expression::Expression;
use crate::invalid::FieldError;
use crate::structural::rule::VARIABLES;
use crate::structural::undefined::{self, find_undefined};
use crate::structural::{embedded, evaluate, prune, schema::Structural, validate};
use regex::Regex;
use serde_json::{Value, json};

/// The types of OpenAPI v3.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// Keywords of OpenAPI that a schema must not have.
const NOT_SUPPORTED: [&str; 6] =
    ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];

/// The reasons that a rule may give.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Returns every rule that a schema breaks; `path` is its path in the definition.
pub(crate) fn schema_errors(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut check = Check::default();
    if is_true(schema, "nullable") {
        check.forbidden(path, ".nullable", "nullable cannot be true at the root");
    }
    check.invariants(schema, Level::Root, path);
    check.completeness(schema, schema, Paths { structural: path, value: path });
    if check.errors.is_empty() {
        check.defaults(schema, path);
    }
    check.keywords(schema, Level::Root, path);
    if check.errors.is_empty() {
        check.rules(schema, Level::Root, Rules { path, uncorrelatable: None });
    }
    check.errors
}

/// The position of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// The place of a nested schema, and of the schema of the same value outside of `allOf` and the like.
#[derive(Clone, Copy)]
struct Paths<'p> {
    structural: &'p str,
    value: &'p str,
}

/// The place of a schema with rules.
#[derive(Clone, Copy)]
struct Rules<'p> {
    path: &'p str,
    /// The list around it whose items have no known state before, if there is one.
    uncorrelatable: Option<&'p str>,
}

#[derive(Default)]
struct Check {
    errors: Vec<FieldError>,
}

impl Check {
    fn forbidden(&mut self, path: &str, field: &str, detail: &str) {
        self.errors.push(FieldError::forbidden(&format!("{path}{field}"), detail));
    }

    fn required(&mut self, path: &str, field: &str, detail: &str) {
        self.errors.push(FieldError::required(&format!("{path}{field}"), detail));
    }

    fn invalid(&mut self, field: &str, value: &Value, detail: &str) {
        self.errors.push(FieldError::invalid(field, value, detail));
    }

    /// Checks that every field has a type, outside of `allOf`, `anyOf`, `oneOf` and `not`.
    fn invariants(&mut self, schema: &Value, level: Level, path: &str) {
        let ty = text(schema, "type");
        if ty == "array" && !schema["items"].is_object() {
            self.required(path, ".items", "must be specified");
        }
        if schema["items"].is_object() {
            self.invariants(&schema["items"], Level::Item, &format!("{path}.items"));
        }
        for (name, property) in properties(schema) {
            self.invariants(property, Level::Field, &format!("{path}.properties[{name}]"));
        }
        if let Some(additional) = schema.get("additionalProperties") {
            if level == Level::Root {
                self.forbidden(path, ".additionalProperties", "must not be used at the root");
            }
            if additional.is_object() {
                self.invariants(additional, Level::Field, &format!("{path}.additionalProperties"));
            }
        }
        self.extensions(schema, path);
        self.nested_of(schema, path);
        self.type_of(schema, level, path);
        self.metadata_of(schema, level, path);
    }

    fn extensions(&mut self, schema: &Value, path: &str) {
        if !is_true(schema, "x-kubernetes-int-or-string") {
            return;
        }
        for extension in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if is_true(schema, extension) {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                self.invalid(&format!("{path}.{extension}"), &json!(true), detail);
            }
        }
    }

    fn type_of(&mut self, schema: &Value, level: Level, path: &str) {
        let ty = text(schema, "type");
        let is_embedded = is_true(schema, "x-kubernetes-embedded-resource");
        let preserves = is_true(schema, "x-kubernetes-preserve-unknown-fields");
        if is_embedded && ty != "object" {
            let detail = "must be object if x-kubernetes-embedded-resource is true";
            match ty {
                "" => self.required(path, ".type", detail),
                other => self.invalid(&format!("{path}.type"), &json!(other), detail),
            }
        } else if ty.is_empty() && !preserves && !is_true(schema, "x-kubernetes-int-or-string") {
            let detail = match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            };
            self.required(path, ".type", detail);
        }
        if is_embedded && schema.get("additionalProperties").is_some() {
            let detail = "must not be used if x-kubernetes-embedded-resource is set";
            self.forbidden(path, ".additionalProperties", detail);
        }
        if level == Level::Root && !ty.is_empty() && ty != "object" {
            self.invalid(&format!("{path}.type"), &json!(ty), "must be object at the root");
        }
        if is_embedded && !preserves && properties(schema).next().is_none() {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.required(path, ".properties", detail);
        }
    }

    /// Checks that the schema does not describe the common fields of all objects.
    fn metadata_of(&mut self, schema: &Value, level: Level, path: &str) {
        if level != Level::Root && !is_true(schema, "x-kubernetes-embedded-resource") {
            return;
        }
        let property = |name: &str| schema["properties"].get(name);
        for (name, expected) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
            let Some(ty) = property(name).map(|schema| text(schema, "type")).filter(|ty| *ty != expected)
            else {
                continue;
            };
            let field = format!("{path}.properties[{name}].type");
            self.invalid(&field, &json!(ty), &format!("must be {expected}"));
        }
        let Some(metadata) = property("metadata").filter(|_| level == Level::Root) else { return };
        let is_plain =
            |name: &String| matches!(name.as_str(), "type" | "properties" | "description" | "default");
        let is_name = |name: &String| matches!(name.as_str(), "name" | "generateName");
        let names = metadata.as_object().into_iter().flatten().map(|(name, _)| name);
        let is_allowed =
            names.into_iter().all(is_plain) && properties(metadata).all(|(name, _)| is_name(name));
        if !is_allowed {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.forbidden(path, ".properties[metadata]", detail);
        }
    }

    /// Checks `allOf`, `anyOf`, `oneOf`, `not` and the pattern.
    fn nested_of(&mut self, schema: &Value, path: &str) {
        for junctor in ["anyOf", "allOf", "oneOf"] {
            if junctor == "anyOf" && is_int_or_string(schema) {
                continue;
            }
            for (index, nested) in items(&schema[junctor]).enumerate() {
                let path = format!("{path}.{junctor}[{index}]");
                let is_exception = junctor == "allOf" && index == 0 && is_int_or_string(nested);
                if !is_exception {
                    self.nested_of(nested, &path);
                }
                self.nested(nested, &path);
            }
        }
        if schema["not"].is_object() {
            let path = format!("{path}.not");
            self.nested_of(&schema["not"], &path);
            self.nested(&schema["not"], &path);
        }
        let pattern = text(schema, "pattern");
        if let Err(error) = Regex::new(pattern) {
            let reason = error.to_string().lines().last().unwrap_or_default().to_owned();
            let detail = format!("must be a valid regular expression, but isn't: {reason}");
            self.invalid(&format!("{path}.pattern"), &json!(pattern), &detail);
        }
    }

    /// Checks a schema within `allOf` and similar fields, which must not declare types and fields.
    fn nested(&mut self, schema: &Value, path: &str) {
        let has = |name: &str| !matches!(schema.get(name), None | Some(Value::Null | Value::Bool(false)));
        for (name, rule) in [
            ("type", "empty"),
            ("additionalProperties", "undefined"),
            ("default", "undefined"),
            ("title", "empty"),
            ("description", "empty"),
            ("nullable", "false"),
            ("x-kubernetes-preserve-unknown-fields", "false"),
            ("x-kubernetes-embedded-resource", "false"),
            ("x-kubernetes-int-or-string", "false"),
            ("x-kubernetes-list-map-keys", "empty"),
            ("x-kubernetes-list-type", "undefined"),
            ("x-kubernetes-map-type", "undefined"),
            ("x-kubernetes-validations", "empty"),
        ] {
            if has(name) {
                self.forbidden(path, &format!(".{name}"), &format!("must be {rule} to be structural"));
            }
        }
        if schema["items"].is_object() {
            let path = format!("{path}.items");
            self.nested_of(&schema["items"], &path);
            self.nested(&schema["items"], &path);
        }
        for (name, property) in properties(schema) {
            let path = format!("{path}.properties[{name}]");
            self.nested_of(property, &path);
            self.nested(property, &path);
            if name == "metadata" {
                self.forbidden(&path, "", "must not be specified in a nested context");
            }
        }
    }

    /// Checks that nested schemas mention only fields that are declared outside of them.
    fn completeness(&mut self, schema: &Value, nested: &Value, paths: Paths<'_>) {
        for junctor in ["not", "allOf", "anyOf", "oneOf"] {
            let found = match &nested[junctor] {
                not @ Value::Object(_) => vec![(format!("{}.not", paths.value), not)],
                list => {
                    let path = |index| format!("{}.{junctor}[{index}]", paths.value);
                    items(list).enumerate().map(|(index, one)| (path(index), one)).collect()
                }
            };
            for (path, one) in found {
                self.declared(schema, one, Paths { value: &path, ..paths });
            }
        }
    }

    fn declared(&mut self, schema: &Value, nested: &Value, paths: Paths<'_>) {
        self.completeness(schema, nested, paths);
        let children = properties(nested).map(|(name, property)| {
            (schema["properties"].get(name), property, format!(".properties[{name}]"))
        });
        let item = Some(&nested["items"]).filter(|items| items.is_object());
        let item = item
            .map(|items| (schema.get("items").filter(|items| items.is_object()), items, ".items".to_owned()));
        for (declared, child, step) in children.chain(item) {
            let (structural, value) =
                (format!("{}{step}", paths.structural), format!("{}{step}", paths.value));
            match declared {
                Some(declared) => {
                    self.declared(declared, child, Paths { structural: &structural, value: &value })
                }
                None => self.required(&structural, "", &format!("because it is defined in {value}")),
            }
        }
    }

    /// Checks that defaults are valid values of their schema.
    fn defaults(&mut self, schema: &Value, path: &str) {
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            let path = format!("{path}.default");
            let structural = Structural::new(schema);
            let mut pruned = json!({ "default": default });
            let holder = Structural {
                properties: [("default".to_owned(), structural.clone())].into(),
                ..Structural::default()
            };
            prune::prune(&holder, &mut pruned);
            if pruned["default"] != *default {
                self.invalid(&path, default, "must not have unknown fields");
            }
            let embedded = embedded::errors(&structural, default);
            let embedded = embedded
                .into_iter()
                .map(|error| FieldError { field: format!("{path}{}", error.field), ..error });
            self.errors.extend(embedded);
            self.errors.extend(validate::validate(&structural, None, default, &path));
            if self.errors.is_empty() {
                self.errors.extend(evaluate::errors(&structural, Some(default), default, &path));
                self.errors.extend(evaluate::errors(&structural, None, default, &path));
            }
        }
        if schema["items"].is_object() {
            self.defaults(&schema["items"], &format!("{path}.items"));
        }
        for (name, property) in properties(schema) {
            self.defaults(property, &format!("{path}.properties[{name}]"));
        }
    }

    /// Compiles the rules of a schema and of all schemas in it.
    fn rules(&mut self, schema: &Value, level: Level, place: Rules<'_>) {
        let Rules { path, uncorrelatable } = place;
        for (index, rule) in items(&schema["x-kubernetes-validations"]).enumerate() {
            let path = format!("{path}.x-kubernetes-validations[{index}]");
            self.rule(schema, level, Rules { path: &path, uncorrelatable }, rule);
        }
        if schema["items"].is_object() {
            let is_map = text(schema, "x-kubernetes-list-type") == "map";
            let uncorrelatable = uncorrelatable.or((!is_map).then_some(path));
            let path = format!("{path}.items");
            self.rules(&schema["items"], Level::Item, Rules { path: &path, uncorrelatable });
        }
        if schema["additionalProperties"].is_object() {
            let path = format!("{path}.additionalProperties");
            self.rules(&schema["additionalProperties"], Level::Field, Rules { path: &path, uncorrelatable });
        }
        for (name, property) in properties(schema) {
            let path = format!("{path}.properties[{name}]");
            self.rules(property, Level::Field, Rules { path: &path, uncorrelatable });
        }
    }

    fn rule(&mut self, schema: &Value, level: Level, place: Rules<'_>, rule: &Value) {
        let Rules { path, uncorrelatable } = place;
        let source = text(rule, "rule").trim();
        if source.is_empty() {
            return self.required(path, ".rule", "rule is not specified");
        }
        let message = text(rule, "message").trim();
        if message.contains('\n') {
            self.invalid(&format!("{path}.message"), &rule["message"], "must not contain line breaks");
        } else if source.contains('\n') && message.is_empty() {
            self.required(path, ".message", "message must be specified if rule contains line breaks");
        }
        let reason = text(rule, "reason");
        if !reason.is_empty() && !REASONS.contains(&reason) {
            self.errors.push(FieldError::not_supported(&format!("{path}.reason"), reason, &REASONS));
        }
        if rule.get("optionalOldSelf").is_some_and(|value| !value.is_null()) {
            self.forbidden(path, ".optionalOldSelf", "this server does not support optionalOldSelf");
        }
        let structural =
            Structural::new(&json!({ "type": schema["type"], "properties": schema["properties"],
            "additionalProperties": schema["additionalProperties"], "items": schema["items"],
            "x-kubernetes-embedded-resource": schema["x-kubernetes-embedded-resource"] }));
        let scope = if level == Level::Root { undefined::Level::Object } else { undefined::Level::Value };
        for name in ["rule", "messageExpression"] {
            let source = text(rule, name).trim();
            if source.is_empty() {
                continue;
            }
            let compiled =
                Expression::compile(source, &VARIABLES).and_then(|expression| {
                    match find_undefined(&expression, &structural, scope) {
                        Some(field) => Err(format!("compilation failed: undefined field '{field}'")),
                        None => Ok(expression),
                    }
                });
            match compiled {
                Err(error) => self.invalid(&format!("{path}.{name}"), rule, &error),
                Ok(expression) => {
                    if let Some(list) = uncorrelatable.filter(|_| name == "rule" && expression.uses_old_self)
                    {
                        let detail = format!(
                            "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                        );
                        self.invalid(&format!("{path}.rule"), &rule["rule"], &detail);
                    }
                }
            }
        }
    }

    /// Checks each keyword of a schema and of all schemas in it.
    fn keywords(&mut self, schema: &Value, level: Level, path: &str) {
        let ty = text(schema, "type");
        if !ty.is_empty() && !TYPES.contains(&ty) {
            self.errors.push(FieldError::not_supported(&format!("{path}.type"), ty, &TYPES));
        }
        for name in NOT_SUPPORTED {
            if schema.get(name).is_some_and(|value| !value.is_null()) {
                self.forbidden(path, &format!(".{name}"), &format!("{name} is not supported"));
            }
        }
        if is_true(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(path, ".uniqueItems", detail);
        }
        let additional = schema.get("additionalProperties").filter(|additional| **additional != true);
        if additional.is_some() && properties(schema).next().is_some() {
            let detail = "additionalProperties and properties are mutual exclusive";
            self.forbidden(path, ".additionalProperties", detail);
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
            self.invalid(&field, &json!(false), "must be true or undefined");
        }
        self.map_type(schema, path);
        self.list_type(schema, path);
        self.list_keys(schema, path);
        if level == Level::Root {
            for name in ["metadata", "kind", "apiVersion"] {
                if schema["properties"][name].get("default").is_some_and(|default| !default.is_null()) {
                    let field = format!(".properties[{name}].default");
                    self.forbidden(path, &field, &format!("must not be set in top-level {name}"));
                }
            }
        }
        if schema["items"].is_object() {
            self.keywords(&schema["items"], Level::Item, &format!("{path}.items"));
        }
        if schema["additionalProperties"].is_object() {
            self.keywords(
                &schema["additionalProperties"],
                Level::Field,
                &format!("{path}.additionalProperties"),
            );
        }
        for (name, property) in properties(schema) {
            self.keywords(property, Level::Field, &format!("{path}.properties[{name}]"));
        }
    }

    fn map_type(&mut self, schema: &Value, path: &str) {
        let Some(map_type) = schema["x-kubernetes-map-type"].as_str() else { return };
        self.type_is(schema, "object", "must be object if x-kubernetes-map-type is specified", path);
        if !["atomic", "granular"].contains(&map_type) {
            let field = format!("{path}.x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(&field, map_type, &["atomic", "granular"]));
        }
    }

    fn type_is(&mut self, schema: &Value, expected: &str, detail: &str, path: &str) {
        match text(schema, "type") {
            ty if ty == expected => {}
            "" => self.required(path, ".type", detail),
            other => self.invalid(&format!("{path}.type"), &json!(other), detail),
        }
    }

    fn list_type(&mut self, schema: &Value, path: &str) {
        let Some(list_type) = schema["x-kubernetes-list-type"].as_str() else { return };
        self.type_is(schema, "array", "must be array if x-kubernetes-list-type is specified", path);
        let item = &schema["items"];
        let is_set = list_type == "set" && text(schema, "type") == "array";
        let (name, list) = match text(item, "type") {
            "array" => {
                ("x-kubernetes-list-type", item["x-kubernetes-list-type"].as_str().unwrap_or("atomic"))
            }
            "object" => {
                ("x-kubernetes-map-type", item["x-kubernetes-map-type"].as_str().unwrap_or("granular"))
            }
            _ => ("", "atomic"),
        };
        if is_set && list != "atomic" {
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            self.invalid(&format!("{path}.items.{name}"), &item["x-kubernetes-list-type"], detail);
        }
        if !["atomic", "set", "map"].contains(&list_type) {
            let field = format!("{path}.x-kubernetes-list-type");
            self.errors.push(FieldError::not_supported(&field, list_type, &["atomic", "set", "map"]));
        }
        if matches!(list_type, "set" | "map") && is_true(item, "nullable") {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbidden(path, ".items.nullable", &detail);
        }
    }

    fn list_keys(&mut self, schema: &Value, path: &str) {
        let keys: Vec<_> = items(&schema["x-kubernetes-list-map-keys"]).filter_map(Value::as_str).collect();
        let field = format!("{path}.x-kubernetes-list-map-keys");
        match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {}
            _ if keys.is_empty() => return,
            None => {
                let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
                return self.required(path, ".x-kubernetes-list-type", detail);
            }
            Some(other) => {
                let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
                return self.invalid(&format!("{path}.x-kubernetes-list-type"), &json!(other), detail);
            }
        }
        if keys.is_empty() {
            self.required(&field, "", "must not be empty if x-kubernetes-list-type is map");
        }
        let item = &schema["items"];
        if !item.is_object() {
            return self.required(path, ".items", "must have a schema if x-kubernetes-list-type is map");
        }
        if text(item, "type") != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            return self.invalid(&format!("{path}.items.type"), &json!(text(item, "type")), detail);
        }
        for (position, key) in keys.iter().enumerate() {
            let Some(property) = item["properties"].get(*key) else {
                self.invalid(&field, &json!(keys), "entries must all be names of item properties");
                continue;
            };
            let place = format!("{path}.items.properties[{key}]");
            if matches!(text(property, "type"), "array" | "object") {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.invalid(&format!("{place}.type"), &item["type"], detail);
            }
            if keys[..position].contains(key) {
                self.invalid(&field, &json!(keys), "must not contain duplicate entries");
            }
            let is_required = items(&item["required"]).any(|name| name == *key);
            if !is_required && property.get("default").is_none_or(Value::is_null) {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.required(&place, ".default", detail);
            }
            if is_true(property, "nullable") {
                let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbidden(&place, ".nullable", detail);
            }
        }
    }
}

/// Returns whether a schema allows numbers and texts in the way that is allowed with `x-kubernetes-int-or-string`.
fn is_int_or_string(schema: &Value) -> bool {
    schema["anyOf"] == json!([{ "type": "integer" }, { "type": "string" }])
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text<'s>(schema: &'s Value, name: &str) -> &'s str {
    schema[name].as_str().unwrap_or_default()
}

fn is_true(schema: &Value, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}
