//! One requirement of a field selector: a field and what its value must be.

use crate::selector::error::{Flaw, SelectorError, Subject};
use std::fmt;

/// What a field selector requires of one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    pub(super) field: String,
    pub(super) relation: Relation,
    pub(super) value: String,
}

/// How a field's value must relate to the one that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// The field has the value.
    Equal,
    /// The field has another value.
    NotEqual,
}

impl FieldRequirement {
    /// Requires that `field` relates to `value` in this way.
    ///
    /// # Errors
    /// If `field` is empty or holds a character that no field's path has.
    pub fn new(
        field: impl Into<String>,
        relation: Relation,
        value: impl Into<String>,
    ) -> Result<Self, SelectorError> {
        let (field, value) = (field.into(), value.into());
        check_path(&field).map_err(|flaw| flaw.of(Subject::FieldPath, &field))?;
        Ok(Self { field, relation, value })
    }

    /// The path of the field, without a leading dot.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// How its value must relate to [`FieldRequirement::value`].
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The value that is named, without escapes.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Whether a field with this value is what is required.
    #[must_use]
    pub fn matches(&self, value: &str) -> bool {
        match self.relation {
            Relation::Equal => value == self.value,
            Relation::NotEqual => value != self.value,
        }
    }
}

pub(super) fn check_path(field: &str) -> Result<(), Flaw> {
    let foreign =
        |char: char| char.is_whitespace() || char.is_control() || matches!(char, '\\' | ',' | '=' | '!');
    match field.find(foreign) {
        None if !field.is_empty() => Ok(()),
        offset => Err(Flaw::new(offset.unwrap_or(0), "a field path")),
    }
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.field)?;
        f.write_str(match self.relation {
            Relation::Equal => "=",
            Relation::NotEqual => "!=",
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
