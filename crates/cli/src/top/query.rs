//! The filters and the order of the objects of a kind.

use crate::change::{is_problem, summary};
use crate::informers::{NODE, OWNER};
use kube_core::DynamicObject;
use kube_informer::cache::{NAMESPACE, Snapshot};
use kube_informer_wire::Key;
use regex::{Regex, RegexBuilder};
use std::{cmp::Reverse, collections::HashSet};

/// The filters and the order of the objects of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// Searched in keys, labels and status.
    pub(super) search: String,
    pub(super) filters: Vec<Filter>,
    /// Shows only objects that need attention.
    pub(super) problems_only: bool,
    pub(super) order: Order,
    pub(super) direction: Direction,
    /// Whether existing or deleted objects are listed.
    pub(super) listed: Listed,
}

/// The direction of a sort order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Direction {
    #[default]
    Usual,
    Reversed,
}

/// The objects that are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Listed {
    #[default]
    Existing,
    /// Objects that were deleted within the last hour.
    Deleted,
}

impl Direction {
    pub(super) fn toggled(self) -> Self {
        match self {
            Self::Usual => Self::Reversed,
            Self::Reversed => Self::Usual,
        }
    }
}

impl Listed {
    pub(super) fn toggled(self) -> Self {
        match self {
            Self::Existing => Self::Deleted,
            Self::Deleted => Self::Existing,
        }
    }
}

/// A filter for objects with a value of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) index: Index,
    pub(super) value: String,
}

/// The indexes of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Namespace,
    Node,
    Owner,
}

/// The order of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Name,
    /// Newest first.
    Age,
    /// Changed last first.
    Change,
    Status,
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
            Self::Status => "status",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Self::Name => Self::Age,
            Self::Age => Self::Change,
            Self::Change => Self::Status,
            Self::Status => Self::Name,
        }
    }
}

impl Query {
    /// Adds a filter, instead of an earlier one by the same index.
    pub(super) fn filter_by(&mut self, filter: Filter) {
        self.filters.retain(|other| other.index != filter.index);
        if !filter.value.is_empty() {
            self.filters.push(filter);
        }
    }

    /// Returns the selected keys in order; `None` once the answer is not needed. This may read every object, so it must not run on
    /// the thread that draws.
    pub(super) fn answer(
        &self,
        snapshot: &Snapshot<DynamicObject>,
        is_wanted: impl Fn() -> bool,
    ) -> Option<Vec<Key>> {
        let mut keys = filtered(snapshot, &self.filters);
        if self.is_narrowed() {
            let search = Search::new(&self.search);
            let mut found = Vec::new();
            for key in keys {
                if !is_wanted() {
                    return None;
                }
                if self.matches(&key, &search, snapshot) {
                    found.push(key);
                }
            }
            keys = found;
        }
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
            Order::Status => {
                let status = |key: &Key| snapshot.get(key).map(|object| summary(&object));
                keys = in_order(keys, status, is_wanted)?;
            }
        }
        if self.direction == Direction::Reversed {
            keys.reverse();
        }
        Some(keys)
    }

    fn is_narrowed(&self) -> bool {
        !self.search.is_empty() || self.problems_only
    }

    fn matches(&self, key: &Key, search: &Search, snapshot: &Snapshot<DynamicObject>) -> bool {
        let by_key = search.finds(key.as_str());
        if by_key && !self.problems_only {
            return true;
        }
        let Some(object) = snapshot.get(key) else { return false };
        if self.problems_only && !is_problem(&object) {
            return false;
        }
        let labels = object.metadata.labels.iter().flatten();
        by_key
            || search.finds(&summary(&object))
            || labels.into_iter().any(|(name, value)| search.finds(&format!("{name}={value}")))
    }
}

/// Returns the keys that pass all filters.
fn filtered(snapshot: &Snapshot<DynamicObject>, filters: &[Filter]) -> Vec<Key> {
    let keys = |filter: &Filter| snapshot.index_keys(filter.index.name(), &filter.value).unwrap_or_default();
    let Some((first, rest)) = filters.split_first() else { return snapshot.keys() };
    let rest: Vec<HashSet<Key>> = rest.iter().map(|filter| keys(filter).into_iter().collect()).collect();
    keys(first).into_iter().filter(|key| rest.iter().all(|keys| keys.contains(key))).collect()
}

/// Returns the values of an index that objects have which pass the other filters.
pub(super) fn values(snapshot: &Snapshot<DynamicObject>, index: Index, filters: &[Filter]) -> Vec<String> {
    let values = snapshot.index_values(index.name()).unwrap_or_default();
    let values = values.iter().map(|value| value.to_string());
    let others: Vec<_> = filters.iter().filter(|filter| filter.index != index).cloned().collect();
    if others.is_empty() {
        return values.collect();
    }
    let keys: HashSet<Key> = filtered(snapshot, &others).into_iter().collect();
    let has_objects = |value: &String| {
        let of_value = snapshot.index_keys(index.name(), value).unwrap_or_default();
        of_value.iter().any(|key| keys.contains(key))
    };
    values.filter(has_objects).collect()
}

/// A search that ignores case: a regular expression, or plain text if it is not a valid one.
#[derive(Debug)]
pub(super) enum Search {
    Regex(Regex),
    Text(String),
}

impl Search {
    pub(super) fn new(text: &str) -> Self {
        let regex = RegexBuilder::new(text).case_insensitive(true).size_limit(1 << 20).build();
        regex.map_or_else(|_| Self::Text(text.to_lowercase()), Self::Regex)
    }

    pub(super) fn finds(&self, text: &str) -> bool {
        match self {
            Self::Regex(regex) => regex.is_match(text),
            Self::Text(search) => text.to_lowercase().contains(search),
        }
    }
}

/// Sorts keys by something that has to be looked up, the highest first.
fn newest_first<T: Ord>(
    keys: Vec<Key>,
    of: impl Fn(&Key) -> Option<T>,
    is_wanted: impl Fn() -> bool,
) -> Option<Vec<Key>> {
    in_order(keys, |key| Reverse(of(key)), is_wanted)
}

/// Sorts keys by something that has to be looked up; `None` once the answer is not needed.
fn in_order<T: Ord>(
    keys: Vec<Key>,
    of: impl Fn(&Key) -> T,
    is_wanted: impl Fn() -> bool,
) -> Option<Vec<Key>> {
    let mut known = Vec::with_capacity(keys.len());
    for key in keys {
        if !is_wanted() {
            return None;
        }
        known.push((of(&key), key));
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
    fn sorting_is_newest_first_and_can_be_canceled() {
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
    fn a_list_is_sorted_by_the_selected_order() {
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
            let query = Query { search: search.to_owned(), order, ..Query::default() };
            let keys = query.answer(&store.snapshot(), || true).unwrap();
            keys.iter().map(|key| key.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(shown("", Order::Name), ["a-mid", "b-new", "b-old"]);
        assert_eq!(shown("", Order::Age), ["b-new", "a-mid", "b-old"]);
        assert_eq!(shown("", Order::Change), ["b-new", "b-old", "a-mid"]);
        assert_eq!(shown("n/b-", Order::Age), ["b-new", "b-old"]);
        let reversed = Query { direction: Direction::Reversed, ..Query::default() };
        let keys = reversed.answer(&store.snapshot(), || true).unwrap();
        assert_eq!(keys.iter().map(Key::name).collect::<Vec<_>>(), ["b-old", "b-new", "a-mid"]);
        assert!(shown("c", Order::Name).is_empty());
    }

    fn snapshot() -> Arc<Snapshot<DynamicObject>> {
        let (store, mut writer) = Store::<DynamicObject>::builder()
            .index(NODE, |pod: &DynamicObject| pod.data["spec"]["nodeName"].as_str().map(str::to_owned))
            .build()
            .unwrap();
        let pods = [("a", "x", "n1", "Running"), ("a", "y", "n2", "Failed"), ("b", "z", "n1", "Running")];
        for (namespace, name, node, phase) in pods {
            let object = json!({"metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
                "spec": {"nodeName": node, "containers": [{}]},
                "status": {"phase": phase, "containerStatuses": [{"ready": phase == "Running"}]}});
            writer.edit().insert(Arc::new(serde_json::from_value(object).unwrap())).unwrap();
        }
        store.snapshot()
    }

    fn found(query: &Query) -> Vec<String> {
        let keys = query.answer(&snapshot(), || true).unwrap();
        keys.iter().map(|key| key.as_str().to_owned()).collect()
    }

    #[test]
    fn filters_of_several_indexes_apply_together() {
        let mut query = Query::default();
        query.filter_by(Filter { index: Index::Namespace, value: "a".into() });
        assert_eq!(found(&query), ["a/x", "a/y"]);
        query.filter_by(Filter { index: Index::Node, value: "n1".into() });
        assert_eq!(found(&query), ["a/x"]);
        query.filter_by(Filter { index: Index::Namespace, value: "b".into() });
        assert_eq!(found(&query), ["b/z"]);
        assert_eq!(values(&snapshot(), Index::Node, &query.filters), ["n1"]);
        query.filter_by(Filter { index: Index::Namespace, value: String::new() });
        assert_eq!(found(&query), ["a/x", "b/z"]);
        let mut nodes = values(&snapshot(), Index::Node, &query.filters);
        nodes.sort();
        assert_eq!(nodes, ["n1", "n2"]);
    }

    #[test]
    fn objects_are_sorted_by_status() {
        let query = Query { order: Order::Status, ..Query::default() };
        assert_eq!(found(&query), ["a/y", "a/x", "b/z"]);
        assert_eq!(found(&Query { direction: Direction::Reversed, ..query }), ["b/z", "a/x", "a/y"]);
    }

    #[test]
    fn a_search_finds_names_labels_and_status_without_case() {
        let search = |text: &str| found(&Query { search: text.into(), ..Query::default() });
        assert_eq!(search("A/X"), ["a/x"]);
        assert_eq!(search("failed"), ["a/y"]);
        assert_eq!(search("^a/|app=z"), ["a/x", "a/y", "b/z"]);
        assert_eq!(search("on n2("), [""; 0]);
        let problems = Query { problems_only: true, ..Query::default() };
        assert_eq!(found(&problems), ["a/y"]);
        assert_eq!(found(&Query { search: "x".into(), ..problems }), [""; 0]);
    }
}
