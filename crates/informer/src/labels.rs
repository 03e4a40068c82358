//! Labels of objects, kept beside those that are not kept decoded.

use crate::object::IndexValue;
use kube_core::Resource;
use kube_informer_wire::{LabelSelector, chance::HashSeed};
use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Keeps the labels of objects, or those of some names, as tags of a number that no index has.
///
/// Labels of thousands of objects are often the same, so each set of them is one text that all share: names and values by
/// turns, in the order of names, each with a zero behind it.
pub(crate) struct LabelKeeper<K> {
    /// In order; nothing where all labels are kept.
    names: Option<Box<[Box<str>]>>,
    labels: fn(&K) -> Option<&BTreeMap<String, String>>,
    sets: Mutex<Sets>,
}

/// The sets in use, and some that were until lately.
struct Sets {
    known: HashSet<Arc<str>, HashSeed>,
    /// When there are so many, those that nobody has are dropped.
    full: usize,
}

/// So many sets stay, whether somebody has them or not.
const FEW: usize = 64;

/// What no part of a label has in it.
const END: char = '\0';

impl<K: Resource> LabelKeeper<K> {
    /// Keeps all labels, or those of these names.
    pub(crate) fn new(names: Option<Vec<String>>) -> Self {
        let names = names.map(|mut names| {
            names.sort_unstable();
            names.into_iter().map(Into::into).collect()
        });
        let sets = Sets { known: HashSet::with_hasher(HashSeed::new()), full: FEW };
        Self { names, labels: |object| object.meta().labels.as_ref(), sets: Mutex::new(sets) }
    }
}

impl<K> LabelKeeper<K> {
    /// What is kept of an object's labels. Nothing where they are not what a server takes for labels: such an object is looked
    /// at to know them.
    pub(crate) fn value(&self, labels: Option<&BTreeMap<String, String>>) -> Option<IndexValue> {
        let mut text = String::new();
        for (name, value) in labels.into_iter().flatten().filter(|(name, _)| self.keeps(name)) {
            if name.contains(END) || value.contains(END) {
                return None;
            }
            [name.as_str(), value].into_iter().for_each(|part| {
                text.push_str(part);
                text.push(END);
            });
        }
        let mut sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
        Some(IndexValue { index: IndexValue::LABELS, value: sets.shared(text) })
    }

    /// What is kept of the labels of `object`.
    pub(crate) fn value_of(&self, object: &K) -> Option<IndexValue> {
        self.value((self.labels)(object))
    }

    /// Whether an object of which these labels are kept is meant; nothing if others have to be known for that.
    pub(crate) fn verdict(&self, labels: &IndexValue, selector: &LabelSelector) -> Option<bool> {
        if selector.is_nothing() {
            return Some(false);
        }
        let mut is_certain = true;
        for requirement in selector.requirements() {
            if !self.keeps(requirement.key()) {
                is_certain = false;
            } else if !requirement.matches(label(&labels.value, requirement.key())) {
                return Some(false);
            }
        }
        is_certain.then_some(true)
    }

    fn keeps(&self, name: &str) -> bool {
        let Some(names) = &self.names else { return true };
        names.binary_search_by(|kept| (**kept).cmp(name)).is_ok()
    }
}

/// The value of a label in a set of them.
fn label<'s>(set: &'s str, name: &str) -> Option<&'s str> {
    let mut parts = set.split_terminator(END);
    while let (Some(found), Some(value)) = (parts.next(), parts.next()) {
        if found >= name {
            return (found == name).then_some(value);
        }
    }
    None
}

impl Sets {
    /// The one text for all that are equal to this.
    fn shared(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.known.get(&*text) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.full {
            self.known.retain(|set| Arc::strong_count(set) > 1);
            self.known.shrink_to(FEW);
            self.full = FEW.max(2 * self.known.len());
        }
        let set: Arc<str> = text.into();
        self.known.insert(Arc::clone(&set));
        set
    }
}

impl<K> fmt::Debug for LabelKeeper<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabelKeeper").field("names", &self.names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn keeper(names: Option<&[&str]>) -> LabelKeeper<ConfigMap> {
        LabelKeeper::new(names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
    }

    fn labels(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn equal_sets_are_one_and_those_that_nobody_has_are_dropped() {
        let keeper = keeper(None);
        let of = |number: usize| keeper.value(Some(&labels(&[("a", &number.to_string())]))).unwrap();
        let stays = of(0);
        assert!(Arc::ptr_eq(&stays.value, &of(0).value));
        for number in 1..100_000 {
            drop(of(number));
        }
        let count = keeper.sets.lock().unwrap().known.len();
        assert!(count <= FEW, "{count} sets");
        assert!(Arc::ptr_eq(&stays.value, &of(0).value), "what somebody has is still the one");
        let held: Vec<_> = (0..1000).map(of).collect();
        assert!(held.iter().enumerate().all(|(number, tag)| Arc::ptr_eq(&tag.value, &of(number).value)));
    }

    #[test]
    fn what_is_not_kept_is_left_open() {
        let keeper = keeper(Some(&["b", "a"]));
        let tag = keeper.value(Some(&labels(&[("a", "1"), ("c", "3")]))).unwrap();
        let verdict = |selector: &str| keeper.verdict(&tag, &selector.parse().unwrap());
        assert_eq!(verdict("a=1,!b"), Some(true));
        assert_eq!(verdict("a=2"), Some(false));
        assert_eq!(verdict("c=3"), None);
        assert_eq!(verdict("c=3,b"), Some(false), "whatever c is");
        assert_eq!(keeper.verdict(&tag, &LabelSelector::nothing()), Some(false));
    }

    #[test]
    fn labels_that_no_server_takes_are_left_open() {
        for odd in [labels(&[("a\0b", "1")]), labels(&[("a", "\0")])] {
            assert!(keeper(None).value(Some(&odd)).is_none());
        }
        let empty = keeper(None).value(None).unwrap();
        assert_eq!(keeper(None).verdict(&empty, &"!a".parse().unwrap()), Some(true));
        let blank = keeper(None).value(Some(&labels(&[("a", ""), ("b", "x")]))).unwrap();
        assert_eq!(keeper(None).verdict(&blank, &"a=,b=x".parse().unwrap()), Some(true));
    }
}
