//! Evaluates the rules of a schema.

use crate::expression::{EvaluationError, Variables, map, text_key};
use crate::invalid::FieldError;
use crate::structural::escape::escaped;
use crate::structural::rule::Rule;
use crate::structural::schema::{Additional, Structural};
use crate::structural::undefined::Level;
use crate::structural::validate::correlated_item;
use base64::Engine as _;
use cel::Value as CelValue;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// How long a message that an expression returns may be, in bytes.
const LONGEST_MESSAGE: usize = 5 << 10;

/// Returns whether a schema has any rules.
pub(crate) fn has_rules(schema: &Structural) -> bool {
    let additional = match &schema.additional {
        Additional::Schema(schema) => Some(&**schema),
        Additional::Unspecified | Additional::Any | Additional::Forbidden => None,
    };
    let parts = schema.properties.values().chain(schema.items.as_deref()).chain(additional);
    !schema.rules.is_empty() || parts.into_iter().any(has_rules)
}

/// Returns an error for each rule that a value breaks; `field` is its path, empty for an object. A rule that compares with the state before
/// is evaluated only if there is one.
pub(crate) fn errors(schema: &Structural, old: Option<&Value>, new: &Value, field: &str) -> Vec<FieldError> {
    let mut evaluator = Evaluator { errors: Vec::new(), is_over_budget: false };
    let level = if field.is_empty() { Level::Object } else { Level::Value };
    evaluator.value(schema, level, Subject { old, new, is_same: old == Some(new) }, field);
    evaluator.errors
}

/// A value that rules are about.
#[derive(Clone, Copy)]
struct Subject<'v> {
    old: Option<&'v Value>,
    new: &'v Value,
    /// Whether the value, or the last value around it of which the old state is known, has not changed.
    is_same: bool,
}

struct Evaluator {
    errors: Vec<FieldError>,
    is_over_budget: bool,
}

impl Evaluator {
    fn value(&mut self, schema: &Structural, level: Level, subject: Subject<'_>, path: &str) {
        if subject.new.is_null() || self.is_over_budget {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(schema, level, subject, path);
        }
        match subject.new {
            Value::Array(items) => {
                let Some(item_schema) = &schema.items else { return };
                for (index, new) in items.iter().enumerate() {
                    let old = subject.old.and_then(|old| correlated_item(schema, old, new));
                    let child = Subject { old, new, is_same: old.map_or(subject.is_same, |old| old == new) };
                    self.value(item_schema, Level::Value, child, &format!("{path}[{index}]"));
                }
            }
            Value::Object(fields) => {
                for (name, new) in fields {
                    let old = subject.old.and_then(|old| old.get(name));
                    let child = Subject { old, new, is_same: old.map_or(subject.is_same, |old| old == new) };
                    if let Some(schema) = schema.properties.get(name) {
                        let dot = if path.is_empty() { "" } else { "." };
                        self.value(schema, Level::Value, child, &format!("{path}{dot}{name}"));
                    } else if let Additional::Schema(schema) = &schema.additional {
                        self.value(schema, Level::Value, child, &format!("{path}[{name}]"));
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(&mut self, schema: &Structural, level: Level, subject: Subject<'_>, path: &str) {
        let mut variables = Variables::default();
        variables.set("self", to_cel(Some(schema), level, subject.new), subject.new);
        if let Some(old) = subject.old {
            variables.set("oldSelf", to_cel(Some(schema), level, old), old);
        }
        let field = if path.is_empty() { "<nil>" } else { path };
        let ty: Value = schema.types.join(",").into();
        for rule in &schema.rules {
            if rule.expression.uses_old_self && subject.old.is_none() {
                continue;
            }
            match rule.expression.evaluate(&variables) {
                Ok(CelValue::Bool(true)) => {}
                Ok(CelValue::Bool(false)) => {
                    if rule.expression.uses_old_self || !subject.is_same {
                        let target = RuleTarget { schema, field, value: subject.new };
                        self.errors.push(broken(rule, &variables, target));
                    }
                }
                Ok(_) => {
                    let detail =
                        format!("cel expression must evaluate to a bool evaluating rule: {}", rule.name());
                    self.errors.push(FieldError::invalid(field, &ty, &detail));
                }
                Err(EvaluationError::Failed(cause)) => {
                    let detail = format!("{cause} evaluating rule: {}", rule.name());
                    self.errors.push(FieldError::invalid(field, &ty, &detail));
                }
                Err(EvaluationError::TooExpensive) => {
                    let detail = format!(
                        "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call \
                         cost exceeds limit for rule: {}",
                        rule.name()
                    );
                    self.errors.push(FieldError::invalid(field, &ty, &detail));
                    self.is_over_budget = true;
                    return;
                }
            }
        }
    }
}

/// A value that breaks a rule.
#[derive(Clone, Copy)]
struct RuleTarget<'a> {
    schema: &'a Structural,
    field: &'a str,
    value: &'a Value,
}

/// Returns the error of a rule that is broken.
fn broken(rule: &Rule, variables: &Variables, target: RuleTarget<'_>) -> FieldError {
    let RuleTarget { schema, field, value } = target;
    let detail = message(rule, variables).unwrap_or_else(|| match rule.text("message") {
        "" => format!("failed rule: {}", rule.name()),
        message => message.to_owned(),
    });
    let field = match rule.text("fieldPath") {
        "" => field.to_owned(),
        path if field == "<nil>" => path.trim_start_matches('.').to_owned(),
        path => format!("{field}{path}"),
    };
    let is_large = schema.allows_type("object") || schema.allows_type("array");
    match rule.text("reason") {
        "FieldValueForbidden" => FieldError::forbidden(&field, &detail),
        "FieldValueRequired" => FieldError::required(&field, &detail),
        "FieldValueDuplicate" => FieldError::duplicate(&field, value),
        _ if is_large => FieldError::invalid_omitted(&field, &detail),
        _ => FieldError::invalid(&field, value, &detail),
    }
}

/// Returns the message that the rule computes; `None` if it has none, or the message is not valid.
fn message(rule: &Rule, variables: &Variables) -> Option<String> {
    let Ok(CelValue::String(text)) = rule.message_expression.as_ref()?.evaluate(variables) else {
        return None;
    };
    let text = text.trim();
    let is_valid = !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
    is_valid.then(|| text.to_owned())
}

/// Returns a value as expressions see it: with the types of its schema, and only with the fields of it.
fn to_cel(schema: Option<&Structural>, level: Level, value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::Number(number) => {
            let is_float = schema.is_some_and(|schema| schema.types == ["number"]);
            match number.as_i64().filter(|_| !is_float) {
                Some(number) => CelValue::Int(number),
                None => CelValue::Float(number.as_f64().unwrap_or_default()),
            }
        }
        Value::String(text) => text_to_cel(schema, text),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            let items = items.iter().map(|item| to_cel(schema, Level::Value, item)).collect();
            CelValue::List(Arc::new(items))
        }
        Value::Object(fields) => {
            let is_object = level == Level::Object || schema.is_some_and(|schema| schema.is_embedded);
            let has_properties = is_object || schema.is_some_and(|schema| !schema.properties.is_empty());
            let mut entries = HashMap::new();
            for (name, value) in fields {
                let own = schema.and_then(|schema| schema.properties.get(name));
                let key = match name.as_str() {
                    "apiVersion" | "kind" if is_object => Some(name.clone()),
                    "metadata" if is_object => {
                        let names = ["name", "generateName"].into_iter();
                        let names = names.filter_map(|name| {
                            Some((text_key(name), to_cel(None, Level::Value, value.get(name)?)))
                        });
                        entries.insert(text_key("metadata"), map(names.collect()));
                        continue;
                    }
                    _ if has_properties => own.and_then(|_| escaped(name)),
                    _ => Some(name.clone()),
                };
                let schema = own.or_else(|| schema.and_then(|schema| schema.field(name)));
                if let Some(name) = key {
                    entries.insert(text_key(&name), to_cel(schema, Level::Value, value));
                }
            }
            map(entries)
        }
    }
}

fn text_to_cel(schema: Option<&Structural>, text: &str) -> CelValue {
    let format =
        schema.and_then(|schema| schema.format.as_ref()).map(|format| format.name().replace('-', ""));
    let special = match format.as_deref() {
        Some("datetime") => chrono::DateTime::parse_from_rfc3339(text).ok().map(CelValue::Timestamp),
        Some("date") => {
            chrono::DateTime::parse_from_rfc3339(&format!("{text}T00:00:00Z")).ok().map(CelValue::Timestamp)
        }
        Some("duration") => duration(text).map(CelValue::Duration),
        Some("byte") => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok();
            bytes.map(|bytes| CelValue::Bytes(Arc::new(bytes)))
        }
        Some(_) | None => None,
    };
    special.unwrap_or_else(|| CelValue::from(text))
}

/// Reads a duration as Go writes it: `1h30m`.
fn duration(text: &str) -> Option<chrono::Duration> {
    let mut rest = text;
    let mut nanoseconds = 0_f64;
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(end);
        let units =
            [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("h", 3.6e12), ("m", 6e10), ("s", 1e9)];
        let (unit, factor) = units.into_iter().find(|(unit, _)| after.starts_with(unit))?;
        nanoseconds += number.parse::<f64>().ok()? * factor;
        rest = &after[unit.len()..];
    }
    Some(chrono::Duration::nanoseconds(nanoseconds as i64))
}
