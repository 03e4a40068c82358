//! A requirement of a label selector.

use super::text::{check_key, check_value};
use crate::selector::error::{ParseError, SelectorError, Subject};
use std::{collections::BTreeSet, fmt};

/// A requirement of a label selector: a key and an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    key: String,
    operator: LabelOperator,
}

/// The operator of a label requirement, with its values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// The label exists, with any value.
    Exists,
    /// The label does not exist.
    DoesNotExist,
    /// The label has one of these values; `a=b` is `a in (b)`.
    In(BTreeSet<String>),
    /// The label has none of these values, or does not exist; `a!=b` is `a notin (b)`.
    NotIn(BTreeSet<String>),
    /// The label is an integer greater than this.
    GreaterThan(i64),
    /// The label is an integer less than this.
    LessThan(i64),
}

impl LabelRequirement {
    /// Creates a requirement.
    ///
    /// # Errors
    /// [`SelectorError`] if the key or a value is not valid for a label, or a set of values is empty. Bounds must be valid
    /// values as well, so that they cannot be negative.
    pub fn new(key: impl Into<String>, operator: LabelOperator) -> Result<Self, SelectorError> {
        let key = key.into();
        check_key(&key).map_err(|error| error.of(Subject::LabelKey, &key))?;
        let check = |value: &str| check_value(value).map_err(|error| error.of(Subject::LabelValue, value));
        match &operator {
            LabelOperator::Exists | LabelOperator::DoesNotExist => {}
            LabelOperator::In(values) | LabelOperator::NotIn(values) => {
                if values.is_empty() {
                    return Err(
                        ParseError::new(key.len(), "at least one value").of(Subject::MatchExpression, &key)
                    );
                }
                values.iter().try_for_each(|value| check(value))?;
            }
            LabelOperator::GreaterThan(bound) | LabelOperator::LessThan(bound) => check(&bound.to_string())?,
        }
        Ok(Self { key, operator })
    }

    /// Returns the key of the label.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the operator.
    #[must_use]
    pub fn operator(&self) -> &LabelOperator {
        &self.operator
    }

    /// Whether a label with this value matches; `None` for a label that does not exist.
    #[must_use]
    pub fn matches(&self, value: Option<&str>) -> bool {
        let integer = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            LabelOperator::Exists => value.is_some(),
            LabelOperator::DoesNotExist => value.is_none(),
            LabelOperator::In(values) => value.is_some_and(|value| values.contains(value)),
            LabelOperator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            LabelOperator::GreaterThan(bound) => integer().is_some_and(|integer| integer > *bound),
            LabelOperator::LessThan(bound) => integer().is_some_and(|integer| integer < *bound),
        }
    }

    /// Whether the label must exist.
    pub(super) fn requires_label(&self) -> bool {
        !self.matches(None)
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            LabelOperator::Exists => f.write_str(key),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::In(values) => write_set(f, key, ["=", "in"], values),
            LabelOperator::NotIn(values) => write_set(f, key, ["!=", "notin"], values),
            LabelOperator::GreaterThan(bound) => write!(f, "{key}>{bound}"),
            LabelOperator::LessThan(bound) => write!(f, "{key}<{bound}"),
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
