//! Which objects of a kind are shown, in which order.

use crate::follow::{NODE, OWNER};
use kube_core::DynamicObject;
use kube_informer::cache::{NAMESPACE, Snapshot};
use kube_informer_wire::Key;
use std::cmp::Reverse;

/// Which objects of a kind are shown, in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// What the key must contain.
    pub(super) search: String,
    pub(super) filter: Option<Filter>,
    pub(super) order: Order,
}

/// Only objects that stand under a value of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) index: Index,
    pub(super) value: String,
}

/// The indexes that one can filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Namespace,
    Node,
    Owner,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Name,
    /// Newest first.
    Age,
    /// Changed last first.
    Change,
}

impl Index {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Namespace => NAMESPACE,
            Self::Node => NODE,
            Self::Owner => OWNER,
        }
    }
}

impl Order {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Age => "age",
            Self::Change => "change",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Self::Name => Self::Age,
            Self::Age => Self::Change,
            Self::Change => Self::Name,
        }
    }
}

impl Query {
    /// The keys of what is meant, in order, or nothing once that is not wanted any more. This looks at everything, so it is
    /// not for the thread that draws.
    pub(super) fn answer(
        &self,
        snapshot: &Snapshot<DynamicObject>,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Vec<Key>> {
        let keys = match &self.filter {
            Some(Filter { index, value }) => snapshot.index_keys(index.name(), value).unwrap_or_default(),
            None => snapshot.keys(),
        };
        let mut keys: Vec<_> = keys
            .into_iter()
            .filter(|key| self.search.is_empty() || key.as_str().contains(&self.search))
            .collect();
        match self.order {
            Order::Name => keys.sort_unstable(),
            Order::Age => {
                let created =
                    |key: &Key| snapshot.get(key)?.metadata.creation_timestamp.as_ref().map(|time| time.0);
                keys = newest_first(keys, created, is_wanted)?;
            }
            Order::Change => {
                let version = |key: &Key| snapshot.entry(key)?.version()?.to_number();
                keys = newest_first(keys, version, is_wanted)?;
            }
        }
        Some(keys)
    }
}

/// Puts keys in order, of something that has to be looked up.
fn newest_first<T: Ord>(
    keys: Vec<Key>,
    of: impl Fn(&Key) -> Option<T>,
    is_wanted: impl Fn() -> bool,
) -> Option<Vec<Key>> {
    let mut known = Vec::with_capacity(keys.len());
    for key in keys {
        if !is_wanted() {
            return None;
        }
        known.push((Reverse(of(&key)), key));
    }
    known.sort_unstable();
    Some(known.into_iter().map(|(_, key)| key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::cache::Store;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn what_is_looked_up_comes_newest_first_and_is_given_up_in_between() {
        let keys: Vec<Key> = ["a/1", "a/3", "a/2", "a/none"].map(|key| key.parse().unwrap()).to_vec();
        let number = |key: &Key| key.name().parse::<u64>().ok();
        let ordered = newest_first(keys.clone(), number, || true).unwrap();
        assert_eq!(ordered.iter().map(Key::name).collect::<Vec<_>>(), ["3", "2", "1", "none"]);
        let looked = std::cell::Cell::new(0);
        let count = |key: &Key| {
            looked.set(looked.get() + 1);
            number(key)
        };
        assert_eq!(newest_first(keys, count, || looked.get() < 2), None);
        assert_eq!(looked.get(), 2);
    }

    #[test]
    fn a_list_is_in_the_order_that_it_is_said_to_be() {
        let (store, mut writer) = Store::<DynamicObject>::builder().build().unwrap();
        let mut edit = writer.edit();
        // The name, when it was created, and at which version it changed last.
        for (name, second, version) in [("b-old", 1, "9"), ("a-mid", 2, "5"), ("b-new", 3, "10")] {
            let object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "n",
                "resourceVersion": version, "creationTimestamp": format!("2026-01-01T00:00:0{second}Z") } });
            edit.insert(Arc::new(serde_json::from_value(object).unwrap())).unwrap();
        }
        drop(edit);
        let shown = |search: &str, order| {
            let query = Query { search: search.to_owned(), filter: None, order };
            let keys = query.answer(&store.snapshot(), || true).unwrap();
            keys.iter().map(|key| key.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown("", Order::Name), ["a-mid", "b-new", "b-old"]);
        assert_eq!(shown("", Order::Age), ["b-new", "a-mid", "b-old"]);
        assert_eq!(shown("", Order::Change), ["b-new", "b-old", "a-mid"]);
        assert_eq!(shown("n/b-", Order::Age), ["b-new", "b-old"]);
        assert!(shown("c", Order::Name).is_empty());
    }
}
