//! What is known beside compact objects: labels, held against what the objects describe, and what a list need not show again.

use super::apply;
use crate::{
    cache::{self, Store, Writer},
    delta_fifo::DeltaFifo,
    object::Storage,
    object::listing::{Listing, Shown},
    reflector::Sink,
    source::{Decoder, Item},
    testing::{PodBuilder, describe, now, pod, rv},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{Format, Identity, Key, LabelSelector, ManagedFields, Raw};
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// A cache of compact pods, the truth, and how many were decoded.
struct World {
    fifo: DeltaFifo<Pod>,
    store: Store<Pod>,
    writer: Writer<Pod>,
    decoder: Decoder<Pod>,
    decoded: Arc<AtomicUsize>,
    truth: BTreeMap<Key, BTreeMap<String, String>>,
    version: u64,
}

type Labels = BTreeMap<String, String>;

impl World {
    fn new(
        keep: Storage,
        build: impl FnOnce(cache::Builder<Pod>) -> cache::Builder<Pod>,
        probes: bool,
    ) -> Self {
        let (store, writer) = build(Store::builder()).build().unwrap();
        let known = store.clone();
        let fifo = DeltaFifo::builder().storage(keep).known_objects(&known);
        let fifo = fifo.tag_with(store.tagger()).build();
        let decoded = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&decoded);
        let decoder = Decoder::new(move |raw| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(raw.decode(ManagedFields::Keep)?)
        });
        let decoder = if probes {
            decoder.probe(|raw, see| {
                see(raw.decode::<Pod>(ManagedFields::Keep)?.metadata.labels.as_ref());
                Ok(())
            })
        } else {
            decoder
        };
        Self { fifo, store, writer, decoder, decoded, truth: BTreeMap::new(), version: 0 }
    }

    fn item(&mut self, key: &Key, labels: &Labels) -> Item<Pod> {
        self.version += 1;
        let pod = pod(key.as_str()).version(self.version).uid("u");
        let pod = labels.iter().fold(pod, |pod, (name, value)| pod.label(name, value));
        let json = serde_json::to_string(&pod).unwrap();
        Item::of_wire(Raw::new(Format::Json, json.into()), self.decoder.clone())
    }

    fn put(&mut self, key: Key, labels: Labels) {
        let item = self.item(&key, &labels);
        now(Sink::update(&mut self.fifo, item)).unwrap();
        self.truth.insert(key, labels);
    }

    fn delete(&mut self, key: &Key) {
        if let Some(labels) = self.truth.remove(key) {
            let item = self.item(key, &labels);
            now(Sink::delete(&mut self.fifo, item)).unwrap();
        }
    }

    /// A list of all there is; those of which this holds are in another state.
    fn list(&mut self, changed: impl Fn(&Key) -> bool) {
        self.apply();
        let mut items = Vec::new();
        for (key, labels) in self.truth.clone() {
            let item = self.item(&key, &labels);
            let version = self.store.snapshot().entry(&key).and_then(|entry| entry.version());
            items.push(match version.filter(|_| !changed(&key)) {
                Some(version) => {
                    let mut pod = item.into_object().unwrap();
                    pod.metadata.resource_version = Some(version.to_string());
                    let json = serde_json::to_string(&pod).unwrap();
                    Item::of_wire(Raw::new(Format::Json, json.into()), self.decoder.clone())
                }
                None => item,
            });
        }
        let mut listing = Listing::empty(Some(rv(self.version)));
        listing.objects = self.fifo.collector().collect(items).into_iter().map(Result::unwrap).collect();
        now(Sink::replace(&mut self.fifo, listing)).unwrap();
        self.apply();
    }

    fn apply(&mut self) {
        while !self.fifo.is_empty() {
            let batch = now(self.fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
            apply(batch, &mut self.writer, &mut Vec::new()).done();
        }
    }

    /// Checks what is selected, and says how many were decoded for it, and how many match.
    fn check(&mut self, selector: &LabelSelector) -> (usize, usize) {
        self.apply();
        let expected: Vec<_> = {
            let matches = self.truth.iter().filter(|(_, labels)| selector.matches(*labels));
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
enum Act {
    Put(u8, Labels),
    Delete(u8),
    Relist(u8),
    Index,
    Select(LabelSelector),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..40_u8, some_labels()).prop_map(|(name, labels)| Act::Put(name, labels)),
        1 => (0..40_u8).prop_map(Act::Delete),
        1 => (0..4_u8).prop_map(Act::Relist),
        1 => Just(Act::Index),
        4 => selector().prop_map(Act::Select),
    ]
}

fn key(name: u8) -> Key {
    format!("{}/p{name}", if name.is_multiple_of(3) { "a" } else { "b" }).parse().unwrap()
}

fn live(mut world: World, seeds: &[Labels], acts: Vec<Act>, decodes: impl Fn(usize, usize) -> bool) {
    for (name, labels) in seeds.iter().enumerate() {
        world.truth.insert(key(name as u8), labels.clone());
    }
    world.list(|_| true);
    let mut indexes = 0;
    for act in acts {
        match act {
            Act::Put(name, labels) => world.put(key(name), labels),
            Act::Delete(name) => world.delete(&key(name)),
            Act::Relist(part) => world.list(|key| key.as_str().len() as u8 % 4 == part),
            Act::Index => {
                indexes += 1;
                let by_name = |pod: &Pod| pod.metadata.name.clone();
                world.store.add_index(&format!("i{indexes}"), by_name).unwrap();
                assert!(indexes > 9 || world.store.index_values("i1").unwrap().len() == world.store.len());
            }
            Act::Select(selector) => {
                let (decoded, matched) = world.check(&selector);
                assert!(decodes(decoded, matched), "{decoded} decoded, {matched} match {selector}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_selected_is_what_the_objects_say_and_nothing_else_is_decoded(
        seeds in prop::collection::vec(some_labels(), 0..30),
        acts in prop::collection::vec(act(), 1..40),
        probes: bool,
    ) {
        let labelled = |builder: cache::Builder<Pod>| builder.cache_labels();
        live(World::new(Storage::Compressed, labelled, probes), &seeds, acts, |decoded, matched| decoded == matched);
    }

    #[test]
    fn so_it_is_where_some_labels_are_kept_or_none_or_objects_whole(
        seeds in prop::collection::vec(some_labels(), 0..30),
        acts in prop::collection::vec(act(), 1..40),
        probes: bool,
    ) {
        let named = |builder: cache::Builder<Pod>| builder.cache_labels_named(["b", "a"]);
        let worlds = [
            World::new(Storage::Compressed, named, probes),
            World::new(Storage::Compressed, |builder| builder, probes),
            World::new(Storage::Decoded, |builder| builder.cache_labels(), probes),
        ];
        for world in worlds {
            live(world, &seeds, acts.clone(), |decoded, matched| decoded >= matched || decoded == 0);
        }
    }
}

#[test]
fn what_was_known_when_a_list_came_and_is_gone_when_it_is_applied_comes_back() {
    for keep in [Storage::Compressed, Storage::Decoded] {
        let mut world = World::new(keep, |builder| builder.cache_labels(), true);
        let labels = Labels::from([("a".to_owned(), "1".to_owned())]);
        world.put(key(1), labels.clone());
        world.put(key(2), labels);
        world.apply();
        let mut listing = Listing::empty(Some(rv(9)));
        for name in [1, 2] {
            let entry = world.store.snapshot().entry(&key(name)).map(|entry| entry.object()).unwrap();
            let (key, shown) = world.store.same(&Identity::of(&*entry)).unwrap();
            listing.objects.push((key, shown));
        }
        let before = world.store.get(&key(2)).unwrap();
        world.delete(&key(1));
        now(Sink::replace(&mut world.fifo, listing)).unwrap();
        let (mut batches, mut events) = (Vec::new(), Vec::new());
        while !world.fifo.is_empty() {
            batches.push(now(world.fifo.pop_batch(NonZeroUsize::MIN)).unwrap());
        }
        for batch in batches {
            apply(batch, &mut world.writer, &mut events).done();
        }
        let told: Vec<_> = events.iter().map(describe).collect();
        assert_eq!(told, ["-b/p1@3", "+b/p1@1 initial", "=b/p2@2"], "{keep:?}");
        assert_eq!(world.store.matching_keys(&"a=1".parse().unwrap()).len(), 2);
        assert!(keep == Storage::Compressed || Arc::ptr_eq(&before, &world.store.get(&key(2)).unwrap()));
    }
}

#[test]
fn an_index_that_is_added_while_an_object_is_looked_through_has_it_too() {
    let mut world = World::new(Storage::Compressed, |builder| builder.cache_labels(), true);
    let store = world.store.clone();
    world.decoder = Decoder::new(|raw| Ok(raw.decode(ManagedFields::Keep)?)).probe(move |raw, see| {
        let name = |pod: &Pod| pod.metadata.name.clone();
        // The first one is looked through while it is added, and the others after it.
        _ = store.add_index("name", name);
        see(raw.decode::<Pod>(ManagedFields::Keep)?.metadata.labels.as_ref());
        Ok(())
    });
    let labels = Labels::from([("a".to_owned(), "1".to_owned())]);
    world.truth.extend((0..20).map(|name| (key(name), labels.clone())));
    world.list(|_| true);
    for name in 0..20 {
        assert_eq!(world.store.by_index("name", &format!("p{name}")).unwrap().len(), 1, "{name}");
    }
    assert_eq!(world.store.matching_keys(&"a=1".parse().unwrap()).len(), 20);
}

#[test]
fn an_object_that_a_list_shows_takes_three_words() {
    assert_eq!(size_of::<(Key, Shown<Pod>)>(), 3 * size_of::<usize>());
}
