//! Validates a value against a schema, with the messages of kube-apiserver.

use crate::invalid::{FieldError, go_float};
use crate::structural::schema::{Additional, Bound, ListType, Structural};
use serde_json::Value;

/// The field in errors that do not concern a single field.
const NO_FIELD: &str = "<nil>";

/// Returns an error for every rule that a value violates. `prefix` is the path of the value in its object,
/// which messages do not repeat. Errors of a value that equals the value in `old` are omitted.
pub(crate) fn validate(
    schema: &Structural,
    old: Option<&Value>,
    value: &Value,
    prefix: &str,
) -> Vec<FieldError> {
    let validator = Validator { prefix };
    validator.value(schema, Correlated { old, new: value }, "").errors
}

/// A value, and the value that it replaces; `None` if there is none, or if it cannot be determined.
#[derive(Clone, Copy)]
struct Correlated<'v> {
    old: Option<&'v Value>,
    new: &'v Value,
}

/// The result of validating a value.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    /// The number of checks that succeeded. If all alternatives fail, the errors of the one with the largest
    /// number are reported.
    matches: usize,
}

impl Outcome {
    fn check(&mut self, error: Option<FieldError>) {
        match error {
            Some(error) => self.add(error),
            None => self.matches += 1,
        }
    }

    fn add(&mut self, error: FieldError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        other.errors.into_iter().for_each(|error| self.add(error));
    }
}

struct Validator<'a> {
    prefix: &'a str,
}

impl Validator<'_> {
    fn value(&self, schema: &Structural, value: Correlated<'_>, path: &str) -> Outcome {
        let mut outcome = self.all(schema, value, path);
        if value.old == Some(value.new) {
            outcome.errors.clear();
        }
        outcome
    }

    fn all(&self, schema: &Structural, value: Correlated<'_>, path: &str) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.check(self.type_error(schema, value.new, path));
        if !value.new.is_null() {
            self.alternatives(schema, value.new, path, &mut outcome);
        }
        match value.new {
            Value::Null | Value::Bool(_) => {}
            Value::String(text) => {
                outcome.check(self.text_error(schema, text, path));
                outcome.check(self.format_error(schema, text, path));
            }
            Value::Number(_) => self.number(schema, value.new, path, &mut outcome),
            Value::Array(_) => self.items(schema, value, path, &mut outcome),
            Value::Object(_) => self.fields(schema, value, path, &mut outcome),
        }
        outcome.check(self.enum_error(schema, value.new, path));
        outcome
    }

    /// Returns the path of a field in the object.
    fn field(&self, path: &str) -> String {
        match (self.prefix, path.trim_start_matches('.')) {
            ("", "") => NO_FIELD.to_owned(),
            (prefix, "") => prefix.to_owned(),
            ("", path) => path.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    /// Returns the field of errors whose message contains the value.
    fn whole(&self) -> &str {
        if self.prefix.is_empty() { NO_FIELD } else { self.prefix }
    }

    fn type_error(&self, schema: &Structural, value: &Value, path: &str) -> Option<FieldError> {
        let wrong = |expected: &str, found: &str| {
            let detail = format!("{path} in body must be of type {expected}: {found:?}");
            Some(FieldError::type_invalid(&self.field(path), &found.into(), &detail))
        };
        let expected = schema.types.join(",");
        let (found, found_format, is_whole) = match value {
            Value::Null if schema.types.is_empty() || schema.nullable => return None,
            Value::Null => return wrong(&expected, "null"),
            Value::Bool(_) => ("boolean", "", false),
            Value::String(_) => ("string", "", false),
            Value::Array(_) => ("array", "", false),
            Value::Object(_) => ("object", "", false),
            Value::Number(number) if number.is_i64() => ("integer", "int64", true),
            Value::Number(number) => {
                ("number", "float64", number.as_f64().is_some_and(|number| number.fract() == 0.0))
            }
        };
        let is_number = matches!(found, "integer" | "number");
        let is_allowed = schema.allows_type(found)
            || is_number && is_whole && schema.allows_type("integer")
            || found == "integer" && schema.allows_type("number");
        let is_text_or_list = matches!(found, "string" | "array");
        match &schema.format {
            Some(format) if !is_text_or_list && !is_allowed => wrong(format.name(), found_format),
            Some(_) if is_text_or_list && !schema.allows_type("number") && !schema.allows_type("integer") => {
                None
            }
            _ if schema.types.is_empty() || is_allowed => None,
            _ => wrong(&expected, found),
        }
    }

    fn enum_error(&self, schema: &Structural, value: &Value, path: &str) -> Option<FieldError> {
        let allowed = &schema.limits.allowed;
        if allowed.is_empty() || !value.is_null() && allowed.iter().any(|one| is_same(one, value)) {
            return None;
        }
        let known: Vec<_> =
            allowed.iter().map(|one| one.as_str().map_or(one.to_string(), str::to_owned)).collect();
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        Some(FieldError::value_not_supported(&self.field(path), value, &known))
    }

    fn text_error(&self, schema: &Structural, text: &str, path: &str) -> Option<FieldError> {
        let limits = &schema.limits;
        let length = text.chars().count() as u64;
        if let Some(most) = limits.max_length.filter(|most| length > *most) {
            return Some(FieldError::too_long(
                &self.field(path),
                usize::try_from(most).unwrap_or(usize::MAX),
            ));
        }
        let invalid = |rule: &str| {
            let detail = format!("{path} in body {rule}");
            Some(FieldError::invalid(&self.field(path), &text.into(), &detail))
        };
        if let Some(least) = limits.min_length.filter(|least| length < *least) {
            return invalid(&format!("should be at least {least} chars long"));
        }
        match limits.pattern.as_ref().filter(|pattern| !pattern.0.is_match(text)) {
            Some(pattern) => invalid(&format!("should match '{}'", pattern.0.as_str())),
            None => None,
        }
    }

    fn format_error(&self, schema: &Structural, text: &str, path: &str) -> Option<FieldError> {
        let format = schema.format.as_ref().filter(|format| !format.matches(text))?;
        let detail = format!("{path} in body must be of type {}: {text:?}", format.name());
        Some(FieldError::type_invalid(&self.field(path), &text.into(), &detail))
    }

    fn number(&self, schema: &Structural, value: &Value, path: &str, outcome: &mut Outcome) {
        let out_of_range = schema.format.as_ref().filter(|format| !format.holds(value)).map(|format| {
            let name = format.name();
            let of = schema.types.join(",");
            let detail = format!("Checked value must be of type {of} with format {name} in {path}");
            FieldError::invalid(self.whole(), &"".into(), &detail)
        });
        outcome.check(out_of_range);
        let invalid = |rule: &str| {
            FieldError::invalid(&self.field(path), value, &format!("{path} in body should be {rule}"))
        };
        let multiple = schema.limits.multiple_of.filter(|factor| !is_multiple(value, *factor));
        outcome.check(multiple.map(|factor| invalid(&format!("a multiple of {}", go_float(factor)))));
        let minimum = schema.limits.minimum.filter(|bound| !bound.is_met_from_above(value));
        outcome.check(minimum.map(|bound| invalid(&bound.text("greater than", value))));
        let maximum = schema.limits.maximum.filter(|bound| !bound.is_met_from_below(value));
        outcome.check(maximum.map(|bound| invalid(&bound.text("less than", value))));
    }

    fn items(&self, schema: &Structural, value: Correlated<'_>, path: &str, outcome: &mut Outcome) {
        let Value::Array(items) = value.new else { return };
        if let Some(item_schema) = &schema.items {
            for (index, new) in items.iter().enumerate() {
                let old = value.old.and_then(|old| correlated_item(schema, old, new));
                let path = format!("{path}[{index}]");
                outcome.merge(self.value(item_schema, Correlated { old, new }, &path));
            }
        }
        let count = items.len() as u64;
        let too_few = schema.limits.min_items.filter(|least| count < *least).map(|least| {
            let detail = format!("{path} in body should have at least {least} items");
            FieldError::invalid(&self.field(path), &count.into(), &detail)
        });
        outcome.check(too_few);
        let too_many = schema.limits.max_items.filter(|most| count > *most);
        outcome.check(too_many.map(|most| FieldError::too_many(&self.field(path), items.len(), most)));
    }

    fn fields(&self, schema: &Structural, value: Correlated<'_>, path: &str, outcome: &mut Outcome) {
        let Value::Object(fields) = value.new else { return };
        let count = fields.len() as u64;
        let too_few = schema.limits.min_properties.filter(|least| count < *least).map(|least| {
            let detail = format!("{path} in body should have at least {least} properties");
            FieldError::invalid(&self.field(path), &count.into(), &detail)
        });
        outcome.check(too_few);
        let too_many = schema.limits.max_properties.filter(|most| count > *most);
        outcome.check(too_many.map(|most| FieldError::too_many(&self.field(path), fields.len(), most)));
        for (name, new) in fields {
            let old = value.old.and_then(|old| old.get(name));
            // `apiVersion` and `kind` of an object are always validated.
            let old = old.filter(|_| !(path.is_empty() && matches!(name.as_str(), "apiVersion" | "kind")));
            let value = Correlated { old, new };
            if let Some(schema) = schema.properties.get(name) {
                let dot = if path.is_empty() { "" } else { "." };
                outcome.merge(self.value(schema, value, &format!("{path}{dot}{name}")));
                continue;
            }
            match &schema.additional {
                Additional::Unspecified | Additional::Any => {}
                Additional::Schema(schema) => {
                    outcome.merge(self.value(schema, value, &format!("{path}.{name}")))
                }
                Additional::Forbidden => {
                    let detail = format!("{path}.{name} in body is a forbidden property");
                    outcome.add(FieldError::invalid(&self.field(path), &name.as_str().into(), &detail));
                }
            }
        }
        for name in &schema.limits.required {
            let missing = (!fields.contains_key(name)).then(|| self.field(&format!("{path}.{name}")));
            outcome.check(missing.map(|field| FieldError::required(&field, "")));
        }
    }

    /// Checks `anyOf`, `oneOf`, `allOf` and `not`.
    fn alternatives(&self, schema: &Structural, value: &Value, path: &str, outcome: &mut Outcome) {
        let whole = |rule: &str| FieldError::invalid(self.whole(), &"".into(), &format!("{path:?} {rule}"));
        let outcomes = |schemas: &[Structural]| -> Vec<Outcome> {
            schemas
                .iter()
                .map(|schema| self.value(schema, Correlated { old: None, new: value }, path))
                .collect()
        };
        let mut any = outcomes(&schema.any_of);
        if !any.is_empty() && any.iter().all(|one| !one.errors.is_empty()) {
            outcome.add(whole("must validate at least one schema (anyOf)"));
            outcome.merge(any.swap_remove(best(&any)));
        }
        let mut one = outcomes(&schema.one_of);
        let valid = one.iter().filter(|one| one.errors.is_empty()).count();
        if !one.is_empty() && valid == 0 {
            outcome.add(whole("must validate one and only one schema (oneOf). Found none valid"));
            outcome.merge(one.swap_remove(best(&one)));
        } else if valid > 1 {
            let rule =
                format!("must validate one and only one schema (oneOf). Found {valid} valid alternatives");
            outcome.add(whole(&rule));
        }
        let all = outcomes(&schema.all_of);
        let valid = all.iter().filter(|one| one.errors.is_empty()).count();
        let count = all.len();
        all.into_iter().for_each(|one| outcome.merge(one));
        if valid < count {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.add(whole(&format!("must validate all the schemas (allOf){none}")));
        }
        if let Some(not) = &schema.not
            && self.value(not, Correlated { old: None, new: value }, path).errors.is_empty()
        {
            outcome.add(whole("must not validate the schema (not)"));
        }
    }
}

/// Returns the index of the first outcome with the largest number of successful checks.
fn best(outcomes: &[Outcome]) -> usize {
    let most = outcomes.iter().map(|one| one.matches).max();
    outcomes.iter().position(|one| Some(one.matches) == most).unwrap_or(0)
}

/// Returns the item of an old list that a new item replaces; it is known only in lists with keys.
pub(crate) fn correlated_item<'v>(schema: &Structural, old: &'v Value, item: &Value) -> Option<&'v Value> {
    let ListType::Map(keys) = &schema.list_type else { return None };
    let is_same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
    old.as_array()?.iter().find(is_same)
}

fn is_same(one: &Value, other: &Value) -> bool {
    one == other || matches!((one.as_f64(), other.as_f64()), (Some(one), Some(other)) if one == other)
}

fn is_multiple(value: &Value, factor: f64) -> bool {
    match value.as_i64() {
        // kube-apiserver uses integer arithmetic here.
        Some(value) if factor.fract() == 0.0 && factor >= 1.0 => value % (factor as i64) == 0,
        _ => {
            let value = value.as_f64().unwrap_or_default();
            let quotient = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            (quotient - quotient.round()).abs() < 1e-9
        }
    }
}

impl Bound {
    fn is_met_from_below(self, value: &Value) -> bool {
        let number = value.as_f64().unwrap_or_default();
        if self.is_exclusive { number < self.value } else { number <= self.value }
    }

    fn is_met_from_above(self, value: &Value) -> bool {
        let number = value.as_f64().unwrap_or_default();
        if self.is_exclusive { number > self.value } else { number >= self.value }
    }

    fn text(self, relation: &str, value: &Value) -> String {
        let or_equal = if self.is_exclusive { "" } else { " or equal to" };
        let bound = if value.is_i64() { (self.value as i64).to_string() } else { go_float(self.value) };
        format!("{relation}{or_equal} {bound}")
    }
}
