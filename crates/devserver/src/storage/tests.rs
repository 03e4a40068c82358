//! Tests of the store against a model that retains all states.

use crate::storage::{CollectionId, Content, Part, ReadError, Selection, Span, Store, Write, WriteError};
use proptest::prelude::*;
use serde_json::json;
use std::{collections::BTreeMap, num::NonZeroU64};

fn collection() -> CollectionId {
    CollectionId::from(("", "maps"))
}

fn content(key: &str, tier: &str) -> Box<Content> {
    let object = json!({ "metadata": { "labels": { "tier": tier } } });
    Box::new(Content::new(key.parse().unwrap(), object, vec![]))
}

/// Creates or replaces an object, or removes it if `tier` is `None`.
fn set(store: &Store, key: &str, tier: Option<&str>) {
    let found = store.get(&collection(), key).map(|record| record.version());
    let write = match (tier, found) {
        (Some(tier), Some(found)) => Write::Replace(found, content(key, tier)),
        (Some(tier), None) => Write::Create(content(key, tier)),
        (None, Some(found)) => Write::Remove(found),
        (None, None) => return,
    };
    store.write(&collection(), key, write).unwrap();
}

fn listed(store: &Store, selection: &Selection, span: &Span) -> Result<Vec<(String, String)>, ReadError> {
    let page = store.list(&collection(), selection, span)?;
    let state = |record: &crate::storage::Record| {
        (record.key().to_string(), record.content().labels()["tier"].clone())
    };
    Ok(page.records.iter().map(state).collect())
}

#[test]
fn a_write_needs_the_version_of_the_current_state() {
    let store = Store::new(10);
    let write = |write| store.write(&collection(), "a/b", write).map(|record| record.version());
    assert_eq!(write(Write::Remove(1)), Err(WriteError::Missing));
    assert_eq!(write(Write::Replace(1, content("a/b", "x"))), Err(WriteError::Missing));
    assert_eq!(write(Write::Create(content("a/b", "x"))), Ok(2));
    assert_eq!(write(Write::Create(content("a/b", "x"))), Err(WriteError::Exists));
    assert_eq!(write(Write::Replace(1, content("a/b", "y"))), Err(WriteError::Changed));
    assert_eq!(write(Write::Replace(2, content("a/b", "y"))), Ok(3));
    assert_eq!(write(Write::Remove(2)), Err(WriteError::Changed));
    assert_eq!(write(Write::Remove(3)), Ok(4));
    assert_eq!(store.version(), 4);
}

#[test]
fn states_that_keep_their_labels_share_them() {
    let store = Store::new(10);
    set(&store, "a/b", Some("x"));
    let before = store.get(&collection(), "a/b").unwrap();
    set(&store, "a/b", Some("x"));
    let after = store.get(&collection(), "a/b").unwrap();
    assert!(std::ptr::eq(before.content().labels(), after.content().labels()));
    assert!(after.size(Part::Metadata) > 0);
}

#[test]
fn resetting_versions_keeps_only_the_objects() {
    let store = Store::new(10);
    for _ in 0..50 {
        set(&store, "a/b", Some("x"));
    }
    let (position, _) = store.follow(&collection(), None).unwrap();
    store.reset_versions();
    assert_eq!(store.version(), 2);
    assert!(matches!(store.events(&collection(), position, 10), Err(ReadError::Cut)));
    assert!(matches!(store.follow(&collection(), Some(1)), Err(ReadError::Expired { floor: 2 })));
    let all = listed(&store, &Selection::default(), &Span::default());
    assert_eq!(all, Ok(vec![("a/b".to_owned(), "x".to_owned())]));
    set(&store, "a/b", Some("y"));
    assert_eq!(store.get(&collection(), "a/b").unwrap().to_value("{")["metadata"]["resourceVersion"], "3");
}

/// All states, by version.
struct Model(BTreeMap<u64, BTreeMap<String, String>>);

fn changes() -> impl Strategy<Value = Vec<(String, Option<&'static str>)>> {
    let tier = prop_oneof![Just(Some("front")), Just(Some("back")), Just(None)];
    prop::collection::vec(("(a|a-b|b)/[x-z]", tier), 1..40)
}

fn run(store: &Store, changes: &[(String, Option<&str>)]) -> Model {
    let mut state = BTreeMap::new();
    let mut model = BTreeMap::from([(store.version(), state.clone())]);
    for (key, tier) in changes {
        set(store, key, *tier);
        match tier {
            Some(tier) => drop(state.insert(key.clone(), (*tier).to_owned())),
            None => drop(state.remove(key)),
        }
        model.insert(store.version(), state.clone());
    }
    Model(model)
}

proptest! {
    #[test]
    fn any_remembered_version_can_be_listed(changes in changes(), capacity in 1..50_usize, front: bool, namespace in prop::option::of("a|b")) {
        let store = Store::new(capacity);
        let Model(model) = run(&store, &changes);
        let labels = if front { "tier=front" } else { "" }.parse().unwrap();
        let selection = Selection { labels, namespace: namespace.clone(), ..Selection::default() };
        for (version, state) in model {
            let expected: Vec<_> = state
                .into_iter()
                .filter(|(key, tier)| !front || tier == "front" && !key.is_empty())
                .filter(|(key, _)| namespace.as_ref().is_none_or(|ns| key.starts_with(&format!("{ns}/"))))
                .collect();
            let span = Span { version: Some(version), ..Span::default() };
            match listed(&store, &selection, &span) {
                Ok(found) => prop_assert_eq!(found, expected),
                Err(ReadError::Expired { floor }) => prop_assert!(floor > version),
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }
    }

    #[test]
    fn pages_contain_all_objects(changes in changes(), limit in 1..5_u64) {
        let store = Store::new(1000);
        run(&store, &changes);
        let whole = listed(&store, &Selection::default(), &Span::default()).unwrap();
        let (mut found, mut span) = (Vec::new(), Span { limit: NonZeroU64::new(limit), ..Span::default() });
        loop {
            let page = store.list(&collection(), &Selection::default(), &span).unwrap();
            found.extend(page.records.iter().map(|record| record.key().to_string()));
            prop_assert_eq!(page.remaining.unwrap_or(0) as usize, whole.len() - found.len());
            set(&store, "a/x", Some("new"));
            let Some(next) = page.next else { break };
            span = Span { version: next.version, after: Some(next.after), ..span };
        }
        prop_assert_eq!(found, whole.into_iter().map(|(key, _)| key).collect::<Vec<_>>());
    }

    #[test]
    fn events_lead_from_any_version_to_the_newest(changes in changes(), most in 1..5_usize, front: bool) {
        let store = Store::new(1000);
        let Model(model) = run(&store, &changes);
        let labels = if front { "tier=front" } else { "" }.parse().unwrap();
        let selection = Selection { labels, ..Selection::default() };
        let matching = |state: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            state.clone().into_iter().filter(|(_, tier)| !front || tier == "front").collect()
        };
        for (version, state) in &model {
            let mut state = matching(state);
            let (mut position, _) = store.follow(&collection(), Some(*version)).unwrap();
            while position.version < store.version() {
                let batch = store.events(&collection(), position, most).unwrap();
                for (kind, record) in batch.events.iter().filter_map(|event| event.seen_by(&selection)) {
                    let tier = record.content().labels()["tier"].clone();
                    let before = match kind.as_str() {
                        "DELETED" => state.remove(record.key().as_str()),
                        _ => state.insert(record.key().to_string(), tier),
                    };
                    prop_assert_eq!(before.is_none(), kind.as_str() == "ADDED");
                }
                position = batch.position;
            }
            prop_assert_eq!(&state, &matching(model.values().last().unwrap()));
        }
    }
}

#[test]
fn a_resource_without_objects_has_an_empty_list() {
    let store = Store::new(1);
    assert_eq!(listed(&store, &Selection::default(), &Span::default()), Ok(vec![]));
    let ahead = Span { version: Some(9), ..Span::default() };
    assert_eq!(listed(&store, &Selection::default(), &ahead), Err(ReadError::NotReached { newest: 1 }));
}
