//! A label selector: requirements that must all hold, in one canonical form.

use super::{
    parser,
    requirement::{Condition, LabelRequirement},
};
use crate::selector::error::SelectorError;
use std::{collections::BTreeMap, fmt, str::FromStr};

/// What a selector that matches nothing prints: no object has a label and lacks it.
const CONTRADICTION: &str = "none,!none";

/// Selects objects by their labels; all requirements must hold.
///
/// A selector is kept in one canonical form: requirements sorted by key, values sorted, `a==b` and `a in (b)` written
/// `a=b`. Two selectors that print the same are equal, and what is printed parses back to an equal selector. The
/// language has no word for "nothing", so [`LabelSelector::nothing`] prints a contradiction; conversely, a selector
/// that wants a label both there and not there is [nothing](LabelSelector::is_nothing).
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
pub struct LabelSelector(Reach);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Reach {
    Nothing,
    /// Sorted, without doubles and without contradiction; empty means everything.
    All(Vec<LabelRequirement>),
}

impl LabelSelector {
    /// Matches every object, also one without labels.
    #[must_use]
    pub const fn everything() -> Self {
        Self(Reach::All(Vec::new()))
    }

    /// Matches no object.
    #[must_use]
    pub const fn nothing() -> Self {
        Self(Reach::Nothing)
    }

    /// Matches objects that have all these labels with these values.
    ///
    /// # Errors
    /// If a key or a value is not what Kubernetes takes for a label.
    pub fn of_labels<K, V>(labels: impl IntoIterator<Item = (K, V)>) -> Result<Self, SelectorError>
    where
        K: Into<String>,
        V: Into<String>,
    {
        let one = |(key, value): (K, V)| LabelRequirement::new(key, Condition::In([value.into()].into()));
        labels.into_iter().map(one).collect()
    }

    /// Matches what both selectors match.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self.0, other.0) {
            (Reach::All(one), Reach::All(two)) => one.into_iter().chain(two).collect(),
            (Reach::Nothing, _) | (_, Reach::Nothing) => Self::nothing(),
        }
    }

    /// Whether no label needs to be read to know that an object matches.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(&self.0, Reach::All(requirements) if requirements.is_empty())
    }

    /// Whether no object needs to be looked at, because none can match.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0 == Reach::Nothing
    }

    /// Whether an object with these labels is meant; takes `&labels`, `labels.as_ref()` and `None`.
    #[must_use]
    pub fn matches<'a>(&self, labels: impl Into<Option<&'a BTreeMap<String, String>>>) -> bool {
        let Reach::All(requirements) = &self.0 else { return false };
        let labels = labels.into();
        let value = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        requirements.iter().all(|requirement| requirement.matches(value(requirement.key())))
    }

    /// What is required, in canonical order; empty both for everything and for nothing.
    #[must_use]
    pub fn requirements(&self) -> &[LabelRequirement] {
        match &self.0 {
            Reach::Nothing => &[],
            Reach::All(requirements) => requirements,
        }
    }

    /// The one value that the label `key` must have, if there is only one.
    #[must_use]
    pub fn exact(&self, key: &str) -> Option<&str> {
        self.requirements().iter().filter(|requirement| requirement.key() == key).find_map(|requirement| {
            match requirement.condition() {
                Condition::In(values) if values.len() == 1 => values.first().map(String::as_str),
                Condition::Exists
                | Condition::Missing
                | Condition::In(_)
                | Condition::NotIn(_)
                | Condition::Above(_)
                | Condition::Below(_) => None,
            }
        })
    }
}

/// Joins requirements; all of them must hold.
impl FromIterator<LabelRequirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = LabelRequirement>>(requirements: I) -> Self {
        let mut requirements: Vec<_> = requirements.into_iter().collect();
        requirements.sort_unstable();
        requirements.dedup();
        let contradicts = |group: &[LabelRequirement]| {
            group.iter().any(|one| *one.condition() == Condition::Missing)
                && group.iter().any(LabelRequirement::needs_the_key)
        };
        if requirements.chunk_by(|one, two| one.key() == two.key()).any(contradicts) {
            return Self::nothing();
        }
        Self(Reach::All(requirements))
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
        let Reach::All(requirements) = &self.0 else { return f.write_str(CONTRADICTION) };
        for (place, requirement) in requirements.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
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
