//! A label selector in canonical form.

use super::{
    parser,
    requirement::{LabelOperator, LabelRequirement},
};
use crate::selector::error::SelectorError;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// The text of a selector that matches nothing.
const CONTRADICTION: &str = "none,!none";

/// Selects objects by their labels. All requirements must match.
///
/// Selectors are stored in canonical form: requirements sorted by key, values sorted, `a==b` and `a in (b)` as `a=b`. The
/// displayed text parses to an equal selector. A selector that requires a label both to exist and not to exist is equal to
/// [`LabelSelector::nothing`], and that is displayed as such a contradiction.
///
/// ```
/// use kube_informer_wire::LabelSelector;
/// use std::collections::BTreeMap;
///
/// let selector: LabelSelector = "tier in (front, edge), !canary".parse()?;
/// let labels = BTreeMap::from([("tier".to_owned(), "front".to_owned())]);
/// assert!(selector.matches(&labels));
/// assert!(!selector.matches(None));
/// assert_eq!(selector.to_string(), "!canary,tier in (edge,front)");
/// # Ok::<(), kube_informer_wire::SelectorError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LabelSelector(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Nothing,
    /// Sorted, without duplicates and contradictions; empty for everything.
    All(Vec<LabelRequirement>),
}

impl LabelSelector {
    /// Creates a selector that matches every object.
    #[must_use]
    pub const fn everything() -> Self {
        Self(Repr::All(Vec::new()))
    }

    /// Creates a selector that matches no object.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(Repr::Nothing)
    }

    /// Creates a selector for objects that have all these labels.
    ///
    /// # Errors
    /// [`SelectorError`] if a key or a value is not valid for a label.
    pub fn of_labels<K, V>(labels: impl IntoIterator<Item = (K, V)>) -> Result<Self, SelectorError>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let one = |(key, value): (K, V)| LabelRequirement::new(key, LabelOperator::In([value.into()].into()));
        labels.into_iter().map(one).collect()
    }

    /// Creates a selector for the objects that match both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Repr::All(one), Repr::All(two)) => one.into_iter().chain(two).collect(),
            (Repr::Nothing, _) | (_, Repr::Nothing) => Self::nothing(),
        }
    }

    /// Whether every object matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(&self.0, Repr::All(requirements) if requirements.is_empty())
    }

    /// Whether no object can match.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0 == Repr::Nothing
    }

    /// Whether an object with these labels matches; accepts `&labels`, `labels.as_ref()` and `None`.
    #[must_use]
    pub fn matches<'a>(&self, labels: impl Into<Option<&'a BTreeMap<String, String>>>) -> bool {
        let Repr::All(requirements) = &self.0 else { return false };
        let labels = labels.into();
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        requirements.iter().all(|requirement| requirement.matches(value(requirement.key())))
    }

    /// Returns the requirements in canonical order; empty both for everything and for nothing.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        match &self.0 {
            Repr::Nothing => &[],
            Repr::All(requirements) => requirements,
        }
    }

    /// Returns the value that the label `key` must have; `None` unless it is exactly one.
    #[must_use]
    pub fn exact(&self, key: &str) -> Option<&str> {
        self.requirements().iter().filter(|requirement| requirement.key() == key).find_map(|requirement| {
            match requirement.operator() {
                LabelOperator::In(values) if values.len() == 1 => values.first().map(String::as_str),
                LabelOperator::Exists
                | LabelOperator::DoesNotExist
                | LabelOperator::In(_)
                | LabelOperator::NotIn(_)
                | LabelOperator::GreaterThan(_)
                | LabelOperator::LessThan(_) => None,
            }
        })
    }
}

/// Joins requirements, all of which must match.
impl FromIterator<LabelRequirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = LabelRequirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_unstable();
        requirements.dedup();
        let contradicts = |group: &[LabelRequirement]| {
            group.iter().any(|one| *one.operator() == LabelOperator::DoesNotExist)
                && group.iter().any(LabelRequirement::requires_label)
        };
        if requirements.chunk_by(|one, two| one.key() == two.key()).any(contradicts) {
            return Self::nothing();
        }
        Self(Repr::All(requirements))
    }
}

impl Default for LabelSelector {
    fn default() -> Self {
        Self::everything()
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        parser::parse(text).map(Self::from_iter)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repr::All(requirements) = &self.0 else { return f.write_str(CONTRADICTION) };
        for (index, requirement) in requirements.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LabelSelector({self})")
    }
}
