//! One step of the path to a field, and the order of steps.

use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

/// A step from a value to a part of it.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    /// A field of a struct, or the entry of a map with this key.
    Field(String),
    /// The item of a list whose key fields have these values, sorted by name.
    Key(Vec<KeyField>),
    /// The item of a set with this value.
    Value(Value),
    /// The item at this position.
    Index(i64),
}

/// A key field of a list item.
#[derive(Clone, Debug)]
pub(crate) struct KeyField {
    /// The name of the field.
    pub(crate) name: String,
    /// Its value in the item.
    pub(crate) value: Value,
}

impl Element {
    /// Creates the step to a field.
    pub(crate) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Returns the name of the field, if this is a step to one.
    pub(crate) fn as_field(&self) -> Option<&str> {
        match self {
            Self::Field(name) => Some(name),
            Self::Key(_) | Self::Value(_) | Self::Index(_) => None,
        }
    }

    /// Returns the position of this variant in the order of elements.
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => a.cmp(b),
            (Self::Value(a), Self::Value(b)) => compare_values(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl Ord for KeyField {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name).then_with(|| compare_values(&self.value, &other.value))
    }
}

impl PartialOrd for KeyField {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyField {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyField {}

/// Writes the step as messages about conflicts have it: `.spec`, `[name="a"]`, `[="a"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|field| format!("{}={}", field.name, field.value)).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Orders values: numbers, then text, booleans, lists, maps and null. Numbers are compared by their value.
pub(crate) fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_values(a, b));
            pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pair = |((a, x), (b, y)): ((&String, _), (&String, _))| a.cmp(b).then(compare_values(x, y));
            let pairs = a.iter().zip(b).map(pair);
            pairs.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Returns true if two values are equal, where `1` equals `1.0`.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    compare_values(a, b) == Ordering::Equal
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
