//! Cached labels of objects that are stored encoded.

use crate::object::IndexValue;
use kube_core::Resource;
use kube_informer_wire::{LabelSelector, rng::HashSeed};
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Caches the labels of objects as an [`IndexValue`], so that selectors can be evaluated without decoding.
///
/// Many objects have equal labels, so equal label sets share one string: names and values alternating, ordered by name, each
/// followed by a zero byte.
pub(crate) struct CachedLabels<K> {
    /// The names of the cached labels, sorted; `None` if all labels are cached.
    names: Option<Box<[Box<str>]>>,
    labels: fn(&K) -> Option<&BTreeMap<String, String>>,
    sets: Mutex<LabelSets>,
}

/// The label sets in use, and unused ones that have not been removed yet.
struct LabelSets {
    sets: HashSet<Arc<str>, HashSeed>,
    /// The number of sets at which unused ones are removed.
    cleanup_at: usize,
}

/// The minimum number of sets for a cleanup.
const MIN_CLEANUP: usize = 64;

/// Cannot occur in a valid label.
const SEPARATOR: char = '\0';

impl<K: Resource> CachedLabels<K> {
    /// Creates a cache of the labels with these names, or of all labels if `None`.
    pub(crate) fn new(names: Option<Vec<String>>) -> Self {
        let names = names.map(|mut names| {
            names.sort_unstable();
            names.into_iter().map(Into::into).collect()
        });
        let sets = LabelSets { sets: HashSet::with_hasher(HashSeed::new()), cleanup_at: MIN_CLEANUP };
        Self { names, labels: |object| object.meta().labels.as_ref(), sets: Mutex::new(sets) }
    }
}

impl<K> CachedLabels<K> {
    /// Returns an empty cache of the same labels for another type.
    pub(crate) fn of_type<T: Resource>(&self) -> CachedLabels<T> {
        CachedLabels::new(
            self.names.as_ref().map(|names| names.iter().map(|name| name.to_string()).collect()),
        )
    }

    /// Returns the value for these labels. `None` if they contain a zero byte, which no API server accepts.
    pub(crate) fn value(&self, labels: Option<&BTreeMap<String, String>>) -> Option<IndexValue> {
        let mut text = String::new();
        for (name, value) in labels.into_iter().flatten().filter(|(name, _)| self.is_cached(name)) {
            if name.contains(SEPARATOR) || value.contains(SEPARATOR) {
                return None;
            }
            for part in [name, value] {
                text.push_str(part);
                text.push(SEPARATOR);
            }
        }
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        Some(IndexValue { index: IndexValue::LABELS, value: sets.intern(text) })
    }

    /// Returns the value for the labels of `object`.
    pub(crate) fn value_of(&self, object: &K) -> Option<IndexValue> {
        self.value((self.labels)(object))
    }

    /// Returns whether the labels match. `None` if that depends on labels that are not cached.
    pub(crate) fn matches(&self, labels: &IndexValue, selector: &LabelSelector) -> Option<bool> {
        if selector.is_nothing() {
            return Some(false);
        }
        let mut is_certain = true;
        for requirement in selector.requirements() {
            if !self.is_cached(requirement.key()) {
                is_certain = false;
            } else if !requirement.matches(value(&labels.value, requirement.key())) {
                return Some(false);
            }
        }
        is_certain.then_some(true)
    }

    fn is_cached(&self, name: &str) -> bool {
        let Some(names) = &self.names else { return true };
        names.binary_search_by(|cached| (**cached).cmp(name)).is_ok()
    }
}

/// Returns the value of a label in a label set.
fn value<'s>(set: &'s str, name: &str) -> Option<&'s str> {
    let mut parts = set.split_terminator(SEPARATOR);
    while let (Some(found), Some(value)) = (parts.next(), parts.next()) {
        if found >= name {
            return (found == name).then_some(value);
        }
    }
    None
}

impl LabelSets {
    /// Returns the shared string that equals `text`.
    fn intern(&mut self, text: String) -> Arc<str> {
        if let Some(set) = self.sets.get(&*text) {
            return Arc::clone(set);
        }
        if self.sets.len() >= self.cleanup_at {
            self.sets.retain(|set| Arc::strong_count(set) > 1);
            self.sets.shrink_to(MIN_CLEANUP);
            self.cleanup_at = MIN_CLEANUP.max(2 * self.sets.len());
        }
        let set: Arc<str> = text.into();
        self.sets.insert(Arc::clone(&set));
        set
    }
}

impl<K> fmt::Debug for CachedLabels<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedLabels").field("names", &self.names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn cached(names: Option<&[&str]>) -> CachedLabels<ConfigMap> {
        CachedLabels::new(names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
    }

    fn labels(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn equal_label_sets_are_shared_and_unused_ones_are_removed() {
        let cached = cached(None);
        let value = |number: usize| cached.value(Some(&labels(&[("a", &number.to_string())]))).unwrap();
        let used = value(0);
        assert!(Arc::ptr_eq(&used.value, &value(0).value));
        for number in 1..100_000 {
            drop(value(number));
        }
        let count = cached.sets.lock().unwrap().sets.len();
        assert!(count <= MIN_CLEANUP, "{count} sets");
        assert!(Arc::ptr_eq(&used.value, &value(0).value), "a set that is used is not removed");
        let values: Vec<_> = (0..1000).map(value).collect();
        let is_shared =
            |(number, first): (usize, &IndexValue)| Arc::ptr_eq(&first.value, &value(number).value);
        assert!(values.iter().enumerate().all(is_shared));
    }

    #[test]
    fn a_match_that_depends_on_other_labels_is_unknown() {
        let cached = cached(Some(&["b", "a"]));
        let value = cached.value(Some(&labels(&[("a", "1"), ("c", "3")]))).unwrap();
        let matches = |selector: &str| cached.matches(&value, &selector.parse().unwrap());
        assert_eq!(matches("a=1,!b"), Some(true));
        assert_eq!(matches("a=2"), Some(false));
        assert_eq!(matches("c=3"), None);
        assert_eq!(matches("c=3,b"), Some(false), "does not match, regardless of c");
        assert_eq!(cached.matches(&value, &LabelSelector::nothing()), Some(false));
    }

    #[test]
    fn labels_with_a_zero_byte_are_not_cached() {
        for invalid in [labels(&[("a\0b", "1")]), labels(&[("a", "\0")])] {
            assert!(cached(None).value(Some(&invalid)).is_none());
        }
    }

    #[test]
    fn absent_and_empty_labels_are_distinguished() {
        let absent = cached(None).value(None).unwrap();
        assert_eq!(cached(None).matches(&absent, &"!a".parse().unwrap()), Some(true));
        let empty = cached(None).value(Some(&labels(&[("a", ""), ("b", "x")]))).unwrap();
        assert_eq!(cached(None).matches(&empty, &"a=,b=x".parse().unwrap()), Some(true));
    }
}
