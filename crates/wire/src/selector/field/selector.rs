//! A field selector in canonical form.

use super::requirement::{FieldOperator, FieldRequirement};
use std::fmt;

/// Selects objects by fields such as `metadata.name` or `spec.nodeName`. All requirements must match.
///
/// Each kind supports a few fields, and the server rejects others. An absent field has the value `""`. In a value, `,`,
/// `=` and `\` are escaped with a backslash.
///
/// ```
/// use kube_informer_wire::FieldSelector;
///
/// let selector: FieldSelector = "status.phase!=Failed,spec.nodeName=n1".parse()?;
/// assert!(selector.matches(|field| (field == "spec.nodeName").then_some("n1")));
/// assert_eq!(selector.exact("spec.nodeName"), Some("n1"));
/// # Ok::<(), kube_informer_wire::SelectorError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector(Vec<FieldRequirement>);

impl FieldSelector {
    /// Creates a selector that matches every object.
    #[must_use]
    pub const fn everything() -> Self {
        Self(Vec::new())
    }

    /// Whether every object matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Creates a selector for the objects that match both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.0.into_iter().chain(other.0).collect()
    }

    /// Returns the requirements in canonical order.
    #[must_use]
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.0
    }

    /// Whether an object matches, of which `value` returns the fields.
    pub fn matches<V: AsRef<str>>(&self, value: impl Fn(&str) -> Option<V>) -> bool {
        self.0.iter().all(|requirement| {
            let value = value(&requirement.field);
            requirement.matches(value.as_ref().map_or("", V::as_ref))
        })
    }

    /// The value that `field` must have, if one is required.
    #[must_use]
    pub fn exact(&self, field: &str) -> Option<&str> {
        let is_exact = |one: &&FieldRequirement| one.field == field && one.operator == FieldOperator::Equal;
        self.0.iter().find(is_exact).map(FieldRequirement::value)
    }
}

/// Joins requirements; all of them must hold.
impl FromIterator<FieldRequirement> for FieldSelector {
    fn from_iter<I: IntoIterator<Item = FieldRequirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_unstable();
        requirements.dedup();
        Self(requirements)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, requirement) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldSelector({self})")
    }
}
