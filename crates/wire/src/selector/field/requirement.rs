//! A requirement of a field selector.

use crate::selector::error::{ParseError, SelectorError, Subject};
use std::fmt;

/// A requirement of a field selector: a field, an operator and a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    pub(super) field: String,
    pub(super) operator: FieldOperator,
    pub(super) value: String,
}

/// The operator of a field requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOperator {
    /// The field has the value.
    Equal,
    /// The field has another value.
    NotEqual,
}

impl FieldRequirement {
    /// Creates a requirement.
    ///
    /// # Errors
    /// [`SelectorError`] if `field` is not a valid path.
    pub fn new(
        field: impl Into<String>,
        operator: FieldOperator,
        value: impl Into<String>,
    ) -> Result<Self, SelectorError> {
        let field = field.into();
        let value = value.into();
        check_path(&field).map_err(|error| error.of(Subject::FieldPath, &field))?;
        Ok(Self { field, operator, value })
    }

    /// Returns the path of the field, without a leading dot.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns the operator.
    #[must_use]
    pub fn operator(&self) -> FieldOperator {
        self.operator
    }

    /// Returns the value, without escapes.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether a field with this value matches.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        match self.operator {
            FieldOperator::Equal => value == self.value,
            FieldOperator::NotEqual => value != self.value,
        }
    }
}

pub(super) fn check_path(field: &str) -> Result<(), ParseError> {
    let is_invalid =
        |char: char| char.is_whitespace() || char.is_control() || matches!(char, '\\' | ',' | '=' | '!');
    match field.find(is_invalid) {
        None if !field.is_empty() => Ok(()),
        offset => Err(ParseError::new(offset.unwrap_or(0), "a field path")),
    }
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        f.write_str(match self.operator {
            FieldOperator::Equal => "=",
            FieldOperator::NotEqual => "!=",
        })?;
        for piece in self.value.split_inclusive(['\\', ',', '=']) {
            match piece.char_indices().next_back() {
                Some((at, escaped @ ('\\' | ',' | '='))) => write!(f, "{}\\{escaped}", &piece[..at])?,
                _ => f.write_str(piece)?,
            }
        }
        Ok(())
    }
}
