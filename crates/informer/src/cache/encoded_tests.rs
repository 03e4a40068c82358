//! Stores of encoded objects: cached labels, indexes, and objects that a list does not decode again.

use super::{Scope, Store, StoreBuilder, Writer};
use crate::{
    delta::Delta,
    event::Phase,
    ingest::Ingest,
    object::{Decoder, ListedObject, Listing, RawObject, Storage, ValidationCost},
    testing::{PodBuilder, describe, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{Format, Identity, Key, LabelSelector, ManagedFields, Raw};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A store of pods, the labels that it should have, and the number of objects decoded.
struct Fixture {
    ingest: Ingest<Pod>,
    store: Store<Pod>,
    writer: Writer<Pod>,
    decoder: Decoder<Pod>,
    decoded: Arc<AtomicUsize>,
    model: BTreeMap<Key, Labels>,
    version: u64,
}

type Labels = BTreeMap<String, String>;

impl Fixture {
    fn new(
        storage: Storage,
        build: impl FnOnce(StoreBuilder<Pod>) -> StoreBuilder<Pod>,
        validates: bool,
    ) -> Self {
        let (store, writer) = build(Store::builder()).build().unwrap();
        let ingest = Ingest::new().storage(storage).known_objects(store.known_objects());
        let decoded = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&decoded);
        let decoder = Decoder::new(move |raw| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(raw.decode(ManagedFields::Keep)?)
        });
        let decoder = if validates {
            decoder.validate_with(ValidationCost::Full, |raw, on_labels| {
                on_labels(raw.decode::<Pod>(ManagedFields::Keep)?.metadata.labels.as_ref());
                Ok(())
            })
        } else {
            decoder
        };
        Self { ingest, store, writer, decoder, decoded, model: BTreeMap::new(), version: 0 }
    }

    fn raw(&self, pod: &Pod) -> RawObject<Pod> {
        let json = serde_json::to_string(pod).unwrap();
        RawObject::encoded(Raw::new(Format::Json, json.into()), self.decoder.clone())
    }

    fn pod(&mut self, key: &Key, labels: &Labels) -> Pod {
        self.version += 1;
        let mut pod = pod(key.as_str()).version(self.version).uid("u");
        pod.metadata.finalizers =
            Some(vec![format!("f{}", self.version % 3), "all".to_owned(), String::new()]);
        labels.iter().fold(pod, |pod, (name, value)| pod.label(name, value))
    }

    fn put(&mut self, key: Key, labels: Labels) {
        let pod = self.pod(&key, &labels);
        let (ingested, object) = self.ingest.watched(self.raw(&pod)).unwrap();
        self.writer.edit().apply(Delta::Updated(ingested, object));
        self.model.insert(key, labels);
    }

    fn delete(&mut self, key: &Key) -> Vec<String> {
        let Some(labels) = self.model.remove(key) else { return Vec::new() };
        let pod = self.pod(key, &labels);
        let (key, object) = self.ingest.watched(self.raw(&pod)).unwrap();
        let event = self.writer.edit().apply(Delta::Deleted(key, Some(object)));
        event.iter().map(describe).collect()
    }

    /// Lists all objects. An object for which `changed` returns true has a new version.
    fn list(&mut self, changed: impl Fn(&Key) -> bool) {
        let mut objects = Vec::new();
        for (key, labels) in self.model.clone() {
            let mut pod = self.pod(&key, &labels);
            let stored = self.store.snapshot().entry(&key).and_then(|entry| entry.version());
            if let Some(version) = stored.filter(|_| !changed(&key)) {
                pod.metadata.resource_version = Some(version.to_string());
            }
            objects.push(self.raw(&pod));
        }
        let mut listing = Listing::empty(Some(rv(self.version)));
        listing.objects = self.ingest.listed(objects).into_iter().map(Result::unwrap).collect();
        self.ingest.list_completed(&mut listing);
        self.writer.edit().replace(listing);
    }

    /// Checks the objects that match, and returns how many were decoded and how many match.
    fn check(&mut self, selector: &LabelSelector) -> (usize, usize) {
        let expected: Vec<_> = {
            let matches = self.model.iter().filter(|(_, labels)| selector.matches(*labels));
            matches.map(|(key, _)| key.clone()).collect()
        };
        let keys = |pods: Vec<Arc<Pod>>| {
            let mut keys: Vec<_> = pods.iter().map(|pod| Key::of(&**pod).unwrap()).collect();
            keys.sort_unstable();
            keys
        };
        let mut found = self.store.matching_keys(selector);
        found.sort_unstable();
        assert_eq!(found, expected);
        let in_a = |key: &&Key| key.namespace() == Some("a");
        let listed = self.store.lister().namespace("a").list(selector);
        assert_eq!(keys(listed), expected.iter().filter(in_a).cloned().collect::<Vec<_>>());
        self.decoded.store(0, Ordering::Relaxed);
        assert_eq!(keys(self.store.matching(selector)), expected);
        (self.decoded.load(Ordering::Relaxed), expected.len())
    }
}

fn some_labels() -> impl Strategy<Value = Labels> {
    prop::collection::btree_map("[ab]|ab|c", "|1|2|20|x", 0..4)
}

fn selector() -> impl Strategy<Value = LabelSelector> {
    let one =
        "!?(a|b|ab|c)|(a|b|ab|c)(=|!=)(1|2|x)?|(a|b|c) (in|notin) \\((1|2|x),(20|x)\\)|(a|b)[<>](1|2|10)";
    prop::collection::vec(one, 0..3).prop_map(|parts| parts.join(",").parse().unwrap())
}

#[derive(Clone, Debug)]
enum Operation {
    Put(u8, Labels),
    Delete(u8),
    Relist(u8),
    Index,
    Select(LabelSelector),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        4 => (0..40_u8, some_labels()).prop_map(|(name, labels)| Operation::Put(name, labels)),
        1 => (0..40_u8).prop_map(Operation::Delete),
        1 => (0..4_u8).prop_map(Operation::Relist),
        1 => Just(Operation::Index),
        4 => selector().prop_map(Operation::Select),
    ]
}

fn key(name: u8) -> Key {
    format!("{}/p{name}", if name.is_multiple_of(3) { "a" } else { "b" }).parse().unwrap()
}

fn run(
    mut fixture: Fixture,
    seeds: &[Labels],
    operations: Vec<Operation>,
    decodes: impl Fn(usize, usize) -> bool,
) {
    for (name, labels) in seeds.iter().enumerate() {
        fixture.model.insert(key(name as u8), labels.clone());
    }
    fixture.list(|_| true);
    let mut indexes = 0;
    for operation in operations {
        match operation {
            Operation::Put(name, labels) => fixture.put(key(name), labels),
            Operation::Delete(name) => drop(fixture.delete(&key(name))),
            Operation::Relist(part) => fixture.list(|key| key.as_str().len() as u8 % 4 == part),
            Operation::Index => {
                indexes += 1;
                let by_name = |pod: &Pod| pod.metadata.name.clone();
                fixture.store.add_index(&format!("i{indexes}"), by_name).unwrap();
                assert!(
                    indexes > 9 || fixture.store.index_values("i1").unwrap().len() == fixture.store.len()
                );
            }
            Operation::Select(selector) => {
                let (decoded, matched) = fixture.check(&selector);
                assert!(decodes(decoded, matched), "{decoded} decoded, {matched} match {selector}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn selectors_match_the_labels_of_the_objects_and_only_matches_are_decoded(
        seeds in prop::collection::vec(some_labels(), 0..30),
        operations in prop::collection::vec(operation(), 1..40),
        validates: bool,
    ) {
        let labelled = |builder: StoreBuilder<Pod>| builder.cache_labels();
        run(Fixture::new(Storage::Compressed, labelled, validates), &seeds, operations, |decoded, matched| decoded == matched);
    }

    #[test]
    fn selectors_match_with_some_cached_labels_with_none_and_with_decoded_objects(
        seeds in prop::collection::vec(some_labels(), 0..30),
        operations in prop::collection::vec(operation(), 1..40),
        validates: bool,
    ) {
        let named = |builder: StoreBuilder<Pod>| builder.cache_labels_named(["b", "a"]);
        let fixtures = [
            Fixture::new(Storage::Compressed, named, validates),
            Fixture::new(Storage::Compressed, |builder| builder, validates),
            Fixture::new(Storage::Decoded, |builder| builder.cache_labels(), validates),
        ];
        for fixture in fixtures {
            run(fixture, &seeds, operations.clone(), |decoded, matched| decoded >= matched || decoded == 0);
        }
    }
}

/// The paths that are indexed, and the names of their indexes.
const PATHS: [&str; 4] =
    ["/metadata/labels/a", "/metadata/labels", "/metadata/finalizers", "/metadata/resourceVersion"];

/// Returns the values of a path in the JSON of an object.
fn values_at(pod: &Pod, path: &str) -> Vec<String> {
    let json = serde_json::to_value(pod).unwrap();
    let Some(value) = json.pointer(path) else { return Vec::new() };
    let texts = match value {
        serde_json::Value::Array(elements) => {
            elements.iter().filter_map(|element| element.as_str()).collect()
        }
        value => value.as_str().into_iter().collect::<Vec<_>>(),
    };
    texts.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

fn check_paths(fixture: &Fixture, paths: &[&str]) {
    for path in paths {
        let mut expected = BTreeMap::<String, Vec<Key>>::new();
        for pod in fixture.store.list() {
            for value in values_at(&pod, path) {
                expected.entry(value).or_default().push(Key::of(&*pod).unwrap());
            }
        }
        let snapshot = fixture.store.snapshot();
        let keys = |value: Arc<str>| (value.to_string(), snapshot.index_keys(path, &value).unwrap());
        let found: BTreeMap<_, _> = snapshot.index_values(path).unwrap().into_iter().map(keys).collect();
        expected.values_mut().for_each(|keys| keys.sort_unstable());
        assert_eq!(found, expected, "{path}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_index_path_has_the_values_of_the_field_with_every_storage(
        seeds in prop::collection::vec(some_labels(), 0..20),
        operations in prop::collection::vec(operation(), 1..30),
        validates: bool,
        caches_labels: bool,
    ) {
        for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
            let build = |builder: StoreBuilder<Pod>| {
                let builder = if caches_labels { builder.cache_labels() } else { builder };
                PATHS[..3].iter().fold(builder, |builder, path| builder.index_path(path, path.parse().unwrap()))
            };
            let mut fixture = Fixture::new(storage, build, validates);
            fixture.model.extend(seeds.iter().enumerate().map(|(name, labels)| (key(name as u8), labels.clone())));
            fixture.list(|_| true);
            let mut paths = &PATHS[..3];
            for (number, operation) in operations.iter().enumerate() {
                match operation.clone() {
                    Operation::Put(name, labels) => fixture.put(key(name), labels),
                    Operation::Delete(name) => drop(fixture.delete(&key(name))),
                    Operation::Relist(part) => fixture.list(|key| key.as_str().len() as u8 % 4 == part),
                    Operation::Index if paths.len() < PATHS.len() => {
                        paths = &PATHS;
                        fixture.store.add_index_path(PATHS[3], PATHS[3].parse().unwrap()).unwrap();
                    }
                    Operation::Index => {
                        // With a function, objects are decoded. The paths are still read from the bytes.
                        let by_name = |pod: &Pod| pod.metadata.name.clone();
                        fixture.store.add_index(&format!("i{number}"), by_name).unwrap();
                    }
                    Operation::Select(selector) => drop(fixture.check(&selector)),
                }
                check_paths(&fixture, paths);
            }
        }
    }
}

#[test]
fn objects_are_not_decoded_for_an_index_path() {
    for storage in [Storage::Encoded, Storage::Compressed] {
        let build =
            |builder: StoreBuilder<Pod>| builder.index_path("a", "/metadata/labels/a".parse().unwrap());
        let mut fixture = Fixture::new(storage, build, true);
        let labels = |name: u8| Labels::from([("a".to_owned(), (name % 2).to_string())]);
        fixture.model.extend((0..20).map(|name| (key(name), labels(name))));
        fixture.list(|_| true);
        fixture.store.add_index_path("name", "/metadata/name".parse().unwrap()).unwrap();
        assert_eq!(fixture.decoded.load(Ordering::Relaxed), 0, "{storage:?}");
        assert_eq!(fixture.store.snapshot().index_keys("a", "1").unwrap().len(), 10);
        assert_eq!(fixture.store.index_values("name").unwrap().len(), 20);
    }
}

#[test]
fn an_object_that_was_deleted_between_listing_and_replacing_is_added_again() {
    for storage in [Storage::Compressed, Storage::Decoded] {
        let mut fixture = Fixture::new(storage, |builder| builder.cache_labels(), true);
        let labels = Labels::from([("a".to_owned(), "1".to_owned())]);
        fixture.put(key(1), labels.clone());
        fixture.put(key(2), labels);
        let mut listing = Listing::empty(Some(rv(9)));
        for name in [1, 2] {
            let object = fixture.store.get(&key(name)).unwrap();
            let known = fixture.store.known_objects().find_same(&Identity::of(&*object), &|| None);
            listing.objects.push(known.unwrap());
        }
        let before = fixture.store.get(&key(2)).unwrap();
        let mut events = fixture.delete(&key(1));
        let mut listed = Vec::new();
        fixture.writer.edit().replace_scope(Scope::All, listing, Phase::Initial, &mut listed);
        events.extend(listed.iter().map(describe));
        assert_eq!(events, ["-b/p1@3", "+b/p1@1 initial", "=b/p2@2"], "{storage:?}");
        assert_eq!(fixture.store.matching_keys(&"a=1".parse().unwrap()).len(), 2);
        assert!(storage == Storage::Compressed || Arc::ptr_eq(&before, &fixture.store.get(&key(2)).unwrap()));
    }
}

#[test]
fn an_index_that_is_added_while_an_object_is_validated_contains_it() {
    let mut fixture = Fixture::new(Storage::Compressed, |builder| builder.cache_labels(), true);
    let store = fixture.store.clone();
    fixture.decoder = Decoder::new(|raw| Ok(raw.decode(ManagedFields::Keep)?)).validate_with(
        ValidationCost::Full,
        move |raw, on_labels| {
            let name = |pod: &Pod| pod.metadata.name.clone();
            // The index is added while the first object is validated.
            _ = store.add_index("name", name);
            on_labels(raw.decode::<Pod>(ManagedFields::Keep)?.metadata.labels.as_ref());
            Ok(())
        },
    );
    let labels = Labels::from([("a".to_owned(), "1".to_owned())]);
    fixture.model.extend((0..20).map(|name| (key(name), labels.clone())));
    fixture.list(|_| true);
    for name in 0..20 {
        assert_eq!(fixture.store.by_index("name", &format!("p{name}")).unwrap().len(), 1, "{name}");
    }
    assert_eq!(fixture.store.matching_keys(&"a=1".parse().unwrap()).len(), 20);
}

#[test]
fn a_listed_object_takes_four_words() {
    assert_eq!(size_of::<(Key, ListedObject<Pod>)>(), 4 * size_of::<usize>());
}
