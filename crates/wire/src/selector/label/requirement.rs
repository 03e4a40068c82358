//! One requirement of a label selector: a key and what its value must be.

use super::text::{check_key, check_value};
use crate::selector::error::{Flaw, SelectorError, Subject};
use std::{collections::BTreeSet, fmt};

/// What a label selector requires of one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    key: String,
    condition: Condition,
}

/// What is required of a label's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The label is there, with any value.
    Exists,
    /// The label is not there.
    Missing,
    /// The label is there and has one of these values; `a=b` is `a in (b)`.
    In(BTreeSet<String>),
    /// The label has none of these values, or is not there; `a!=b` is `a notin (b)`.
    NotIn(BTreeSet<String>),
    /// The label is there and is a larger integer than this.
    Above(i64),
    /// The label is there and is a smaller integer than this.
    Below(i64),
}

impl LabelRequirement {
    /// Requires `condition` of the label `key`.
    ///
    /// # Errors
    /// If the key or a value is not what Kubernetes takes for a label, or a set of values is empty. A bound is a value
    /// too, and no value begins with a minus sign.
    pub fn new(key: impl Into<String>, condition: Condition) -> Result<Self, SelectorError> {
        let key = key.into();
        check_key(&key).map_err(|flaw| flaw.of(Subject::LabelKey, &key))?;
        let check = |value: &str| check_value(value).map_err(|flaw| flaw.of(Subject::LabelValue, value));
        match &condition {
            Condition::Exists | Condition::Missing => {}
            Condition::In(values) | Condition::NotIn(values) => {
                if values.is_empty() {
                    return Err(Flaw::new(key.len(), "at least one value").of(Subject::MatchExpression, &key));
                }
                values.iter().try_for_each(|value| check(value))?;
            }
            Condition::Above(bound) | Condition::Below(bound) => check(&bound.to_string())?,
        }
        Ok(Self { key, condition })
    }

    /// The label of which something is required.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is required of it.
    #[must_use]
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Whether a label with this value, or no label at all, is what is required.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let integer = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.condition {
            Condition::Exists => value.is_some(),
            Condition::Missing => value.is_none(),
            Condition::In(values) => value.is_some_and(|value| values.contains(value)),
            Condition::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Condition::Above(bound) => integer().is_some_and(|integer| integer > *bound),
            Condition::Below(bound) => integer().is_some_and(|integer| integer < *bound),
        }
    }

    /// Whether an object without the label can never be what is required.
    pub(super) fn needs_the_key(&self) -> bool {
        !self.matches(None)
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.condition {
            Condition::Exists => f.write_str(key),
            Condition::Missing => write!(f, "!{key}"),
            Condition::In(values) => write_set(f, key, ["=", "in"], values),
            Condition::NotIn(values) => write_set(f, key, ["!=", "notin"], values),
            Condition::Above(bound) => write!(f, "{key}>{bound}"),
            Condition::Below(bound) => write!(f, "{key}<{bound}"),
        }
    }
}

fn write_set(
    f: &mut fmt::Formatter<'_>,
    key: &str,
    [one, many]: [&str; 2],
    values: &BTreeSet<String>,
) -> fmt::Result {
    let mut rest = values.iter();
    let first = rest.next().map_or("", String::as_str);
    if values.len() < 2 {
        return write!(f, "{key}{one}{first}");
    }
    write!(f, "{key} {many} ({first}")?;
    rest.try_for_each(|value| write!(f, ",{value}"))?;
    f.write_str(")")
}
