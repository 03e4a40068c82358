//! Tests of the store: its rules, a comparison with a simple model, and concurrent reads and writes.

use super::{Entry, IndexConflictError, NAMESPACE, Scope, Store, UnknownIndexError, WaitError, Writer};
use crate::{
    event::{Event, Phase},
    object::Listing,
    testing::{PodBuilder, brief, describe, pod, rv, version_of},
};
use k8s_openapi::{
    NamespaceResourceScope, api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube_core::Resource;
use kube_informer_wire::{Key, LabelSelector, ResourceVersion};
use proptest::prelude::*;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

fn store() -> (Store<Pod>, Writer<Pod>) {
    Store::builder().build().unwrap()
}

/// Builds a store with an index of the comma-separated values of the label `users`.
fn by_users() -> (Store<Pod>, Writer<Pod>) {
    Store::builder().index("users", users).build().unwrap()
}

fn users(pod: &Pod) -> Vec<String> {
    let users = pod.metadata.labels.as_ref().and_then(|labels| labels.get("users"));
    users.map(|users| users.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

fn put(writer: &mut Writer<Pod>, pod: Pod) -> Event<Pod> {
    writer.edit().insert(Arc::new(pod)).unwrap()
}

fn replace(writer: &mut Writer<Pod>, pods: impl IntoIterator<Item = Pod>, version: u64) {
    let listing = Listing::new(pods.into_iter().map(Arc::new), Some(rv(version))).unwrap();
    writer.edit().replace(listing);
}

fn sorted(pods: impl IntoIterator<Item = Arc<Pod>>) -> Vec<String> {
    let mut pods: Vec<_> = pods.into_iter().map(|pod| brief(&pod)).collect();
    pods.sort();
    pods
}

fn names(store: &Store<Pod>, index: &str, value: &str) -> Vec<String> {
    let keys = store.snapshot().index_keys(index, value).unwrap();
    let listed = sorted(store.by_index(index, value).unwrap());
    assert_eq!(listed.len(), keys.len(), "keys and objects of an index value agree");
    keys.iter().map(ToString::to_string).collect()
}

// R101
#[test]
fn returns_the_objects_that_were_inserted() {
    let (store, mut writer) = store();
    assert_eq!(describe(&put(&mut writer, pod("web/a").version(1))), "+web/a@1");
    assert_eq!(describe(&put(&mut writer, pod("web/a").version(2))), "web/a@1 -> web/a@2");
    put(&mut writer, pod("web/b").version(3));
    assert_eq!(store.get("web/a").as_deref().map(version_of), Some(2));
    assert_eq!(store.get(("web", "b")).as_deref().map(version_of), Some(3));
    assert_eq!(store.get(&"web/c".parse::<Key>().unwrap()), None);
    assert_eq!(store.len(), 2);
    assert_eq!(writer.edit().remove("web/a").map(|pod| version_of(pod.get())), Some(2));
    assert_eq!(writer.edit().remove("web/a"), None);
    assert_eq!(sorted(store.list()), ["web/b@3"]);
    assert_eq!(store.keys(), ["web/b".parse().unwrap()]);
    replace(&mut writer, [pod("web/c").version(5), pod("web/d").version(4)], 9);
    assert_eq!(sorted(store.list()), ["web/c@5", "web/d@4"]);
    replace(&mut writer, [], 10);
    assert!(store.is_empty());
}

// R101
#[test]
fn rejects_an_object_without_a_name() {
    let (store, mut writer) = store();
    put(&mut writer, pod("a").version(1));
    assert!(writer.edit().insert(Arc::new(Pod::default().version(7))).is_err());
    assert_eq!(store.version(), Some(rv(1)));
    assert_eq!(store.len(), 1);
}

// R77
#[test]
fn a_list_with_the_same_version_does_not_replace_the_object() {
    let (store, mut writer) = store();
    put(&mut writer, pod("same").version(1).uid("u"));
    put(&mut writer, pod("recreated").version(2).uid("u"));
    let before = [store.get("same").unwrap(), store.get("recreated").unwrap()];
    replace(&mut writer, [pod("same").version(1).uid("u"), pod("recreated").version(2).uid("other")], 9);
    assert!(Arc::ptr_eq(&before[0], &store.get("same").unwrap()));
    assert!(!Arc::ptr_eq(&before[1], &store.get("recreated").unwrap()), "another uid is a different object");
}

#[test]
fn a_list_writes_only_changed_objects() {
    let (store, mut writer) = by_users();
    let all =
        || (0..100).map(|number| pod(&format!("p{number}")).version(1).uid("u").label("users", "ernie"));
    replace(&mut writer, all(), 5);
    let before = store.snapshot();
    replace(&mut writer, all(), 9);
    assert!(store.snapshot().objects.ptr_eq(&before.objects), "a node was copied");
    replace(&mut writer, all().take(99), 10);
    assert!(!store.snapshot().objects.ptr_eq(&before.objects));
    assert_eq!(before.len(), 100);
    assert_eq!(store.len(), 99);
    assert_eq!(names(&store, "users", "ernie").len(), 99);
}

#[test]
fn an_object_that_a_list_skipped_is_not_deleted() {
    let (store, mut writer) = by_users();
    put(&mut writer, pod("known").version(1).label("users", "ernie"));
    put(&mut writer, pod("gone").version(2).label("users", "ernie"));
    let mut listing = Listing::empty(Some(rv(5)));
    listing.skipped = vec!["known".parse().unwrap(), "never-seen".parse().unwrap()];
    let events = writer.edit().replace(listing);
    assert_eq!(events.iter().map(describe).collect::<Vec<_>>(), ["-gone@2 inferred"]);
    assert_eq!(sorted(store.list()), ["known@1"]);
    assert_eq!(names(&store, "users", "ernie"), ["known"]);
}

#[test]
fn the_last_object_wins_if_a_list_contains_a_key_twice() {
    let (store, mut writer) = by_users();
    let twice = [pod("a").version(1).label("users", "one"), pod("a").version(2).label("users", "two")];
    replace(&mut writer, twice, 3);
    assert_eq!(sorted(store.list()), ["a@2"]);
    assert_eq!(*store.index_values("users").unwrap(), ["two".into()]);

    // An initial list is delivered in its order, and each object once.
    let (_, mut writer) = by_users();
    let mut listing = Listing::empty(Some(rv(5)));
    for (name, version) in [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3)] {
        listing.objects.push((name.parse().unwrap(), Arc::new(pod(name).version(version)).into()));
    }
    let mut events = Vec::new();
    writer.edit().replace_scope(Scope::All, listing, Phase::Initial, &mut events);
    let events: Vec<_> = events.iter().map(describe).collect();
    assert_eq!(events, ["+b@1 initial", "+c@1 initial", "+a@3 initial"]);
}

// R104
#[test]
fn an_object_can_have_several_index_values() {
    let (store, mut writer) = by_users();
    for (name, users) in [("one", "ernie,bert"), ("two", "bert,oscar"), ("tre", "ernie,elmo")] {
        put(&mut writer, pod(name).label("users", users));
    }
    assert_eq!(names(&store, "users", "ernie"), ["one", "tre"]);
    assert_eq!(names(&store, "users", "bert"), ["one", "two"]);
    assert_eq!(names(&store, "users", "elmo"), ["tre"]);
    assert_eq!(names(&store, "users", "oscar"), ["two"]);
    assert_eq!(names(&store, "users", "unknown"), [""; 0]);
    writer.edit().remove("tre");
    assert_eq!(names(&store, "users", "ernie"), ["one"]);
    put(&mut writer, pod("two").label("users", "oscar"));
    assert_eq!(names(&store, "users", "bert"), ["one"]);
}

// R105, R108
#[test]
fn a_value_is_removed_with_its_last_object() {
    let (store, mut writer) = by_users();
    put(&mut writer, pod("a").label("users", "ernie"));
    put(&mut writer, pod("b").label("users", "ernie,bert"));
    assert_eq!(*store.index_values("users").unwrap(), ["bert".into(), "ernie".into()]);
    writer.edit().remove("b");
    assert_eq!(*store.index_values("users").unwrap(), ["ernie".into()]);
    put(&mut writer, pod("a"));
    assert!(store.index_values("users").unwrap().is_empty());
}

// R106
#[test]
fn updates_change_the_index() {
    let (store, mut writer) = by_users();
    put(&mut writer, pod("other").label("users", "foo"));
    let updates = ["foo", "bar", "foo,bar", "foo,baz", "baz", "bar,baz", "foo,bar,baz", "foo", "foo,foo"];
    for users in updates {
        put(&mut writer, pod("key").label("users", users));
        for value in ["foo", "bar", "baz"] {
            let mut expected = BTreeSet::new();
            expected.extend((value == "foo").then_some("other"));
            expected.extend(users.split(',').any(|user| user == value).then_some("key"));
            assert_eq!(names(&store, "users", value), Vec::from_iter(expected), "{value} after {users}");
        }
    }
}

// R107
#[test]
fn an_index_can_be_added_to_a_store_in_use() {
    let (store, mut writer) = store();
    put(&mut writer, pod("a").label("users", "ernie"));
    let missing = store.by_index("users", "ernie").unwrap_err();
    assert_eq!(missing, UnknownIndexError { name: "users".into(), known: vec![NAMESPACE.into()] });
    assert_eq!(missing.to_string(), r#"index with name "users" does not exist; known indexes: namespace"#);
    store.add_index("users", users).unwrap();
    assert_eq!(names(&store, "users", "ernie"), ["a"]);
    put(&mut writer, pod("b").label("users", "ernie"));
    assert_eq!(names(&store, "users", "ernie"), ["a", "b"]);
    let conflict = IndexConflictError { name: "users".into() };
    assert_eq!(store.add_index("users", users), Err(conflict.clone()));
    assert_eq!(store.add_index(NAMESPACE, users).unwrap_err().name, NAMESPACE);
    assert_eq!(Store::builder().index("users", users).index("users", users).build().unwrap_err(), conflict);
}

// R104, R107
#[test]
fn objects_that_share_an_index_value_are_found_by_an_object() {
    let (store, mut writer) = store();
    store.add_index("users", users).unwrap();
    for (key, names) in [("web/a", "anna,otto"), ("web/b", "otto,anna"), ("db/c", "ernie"), ("db/d", "")] {
        put(&mut writer, pod(key).label("users", names));
    }
    let of = |index: &str, pod: &Pod| sorted(store.by_index_of(index, pod).unwrap());
    let shared = |names: &str| of("users", &pod("x/new").label("users", names));
    assert_eq!(shared("anna"), ["web/a@0", "web/b@0"]);
    assert_eq!(shared("anna,otto,ernie"), ["db/c@0", "web/a@0", "web/b@0"], "each object once");
    assert_eq!(shared("nobody"), [""; 0]);
    assert_eq!(of(NAMESPACE, &pod("db/new")), ["db/c@0", "db/d@0"]);
    assert_eq!(of(NAMESPACE, &pod("new")), [""; 0], "an object without a namespace");
    assert_eq!(store.by_index_of("zones", &pod("a")).unwrap_err().name, "zones");
}

#[test]
fn the_writer_does_not_wait_while_an_index_is_computed() {
    let (store, mut writer) = store();
    put(&mut writer, pod("a").label("users", "anna"));
    let (started, on_start) = mpsc::channel();
    let (resume, on_resume) = mpsc::channel::<()>();
    let started = Mutex::new(Some(started));
    let on_resume = Mutex::new(on_resume);
    let other = store.clone();
    let adder = std::thread::spawn(move || {
        let slow = move |pod: &Pod| {
            if let Some(started) = started.lock().unwrap().take() {
                started.send(()).unwrap();
                on_resume.lock().unwrap().recv().unwrap();
            }
            users(pod)
        };
        other.add_index("users", slow).unwrap();
    });
    on_start.recv().unwrap();
    let (written, on_written) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        put(&mut writer, pod("a").version(2).label("users", "otto"));
        put(&mut writer, pod("b").label("users", "anna,otto"));
        written.send(()).unwrap();
        writer
    });
    let result = on_written.recv_timeout(Duration::from_secs(20));
    resume.send(()).unwrap();
    adder.join().unwrap();
    result.expect("the writer waits");
    let _writer = writer.join().unwrap();
    assert_eq!(sorted(store.by_index("users", "anna").unwrap()), ["b@0"]);
    assert_eq!(sorted(store.by_index("users", "otto").unwrap()), ["a@2", "b@0"]);
}

#[test]
fn an_object_whose_index_function_panics_is_missing_only_in_that_index() {
    /// Returns a value and then panics for a pod without a node.
    fn fragile(pod: &Pod) -> impl Iterator<Item = String> + use<> {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        std::iter::once("any".to_owned()).chain(std::iter::once_with(|| node.expect("a node")))
    }
    let (store, mut writer) =
        Store::builder().index("fragile", fragile).index("users", users).build().unwrap();
    put(&mut writer, pod("good").node("n").label("users", "ernie"));
    put(&mut writer, pod("bad").label("users", "ernie"));
    assert_eq!(store.index_panics(), 1);
    assert_eq!(names(&store, "fragile", "n"), ["good"]);
    assert_eq!(names(&store, "fragile", "any"), ["good"], "values from before the panic are discarded");
    assert_eq!(names(&store, "users", "ernie"), ["bad", "good"]);
    put(&mut writer, pod("good").label("users", "ernie"));
    assert_eq!(names(&store, "fragile", "n"), [""; 0], "the values of the old state are removed");
    assert_eq!(store.len(), 2);
}

// R109
#[test]
fn the_version_is_that_of_the_last_write() {
    let (store, mut writer) = store();
    let mut after = |write: &dyn Fn(&mut Writer<Pod>)| {
        write(&mut writer);
        store.version().map_or_else(String::new, |version| version.to_string())
    };
    assert_eq!(after(&|_| {}), "");
    assert_eq!(after(&|writer| drop(put(writer, pod("a").version(10)))), "10");
    assert_eq!(after(&|writer| drop(put(writer, pod("b").version(20)))), "20");
    assert_eq!(after(&|writer| drop(put(writer, pod("c")))), "20");
    assert_eq!(after(&|writer| drop(put(writer, pod("d").version(40)))), "40");
    assert_eq!(after(&|writer| drop(writer.edit().remove("d"))), "40");
    let several = |writer: &mut Writer<Pod>| {
        let mut edit = writer.edit();
        for version in [40, 30, 50] {
            edit.insert(Arc::new(pod("e").version(version))).unwrap();
        }
    };
    assert_eq!(after(&several), "50");
    assert_eq!(after(&|writer| replace(writer, [pod("a").version(1)], 60)), "60");
    assert_eq!(after(&|writer| writer.edit().set_version(rv(70))), "70");
}

/// A resource that counts how often its metadata is read.
#[derive(Debug)]
struct CountingResource {
    meta: ObjectMeta,
    reads: Arc<AtomicUsize>,
}

impl Resource for CountingResource {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "CountingResource".into()
    }
    fn group((): &()) -> Cow<'_, str> {
        "test".into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "countingresources".into()
    }
    fn meta(&self) -> &ObjectMeta {
        self.reads.fetch_add(1, Ordering::Relaxed);
        &self.meta
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

// R149
#[test]
fn a_selector_reads_labels_only_if_needed() {
    let reads = Arc::new(AtomicUsize::new(0));
    let (store, mut writer) = Store::<CountingResource>::builder().build().unwrap();
    let mut edit = writer.edit();
    for number in 0..1000 {
        let mut meta = pod(&format!("ns/{number}")).metadata;
        meta.labels = (number % 10 == 0).then(|| BTreeMap::from([("a".into(), "b".into())]));
        edit.insert(Arc::new(CountingResource { meta, reads: Arc::clone(&reads) })).unwrap();
    }
    drop(edit);
    let cost = |selector: &LabelSelector, namespace: &str| {
        reads.store(0, Ordering::Relaxed);
        let found = store.lister().namespace(namespace).list(selector).len();
        (found, reads.load(Ordering::Relaxed))
    };
    for namespace in ["", "ns"] {
        assert_eq!(cost(&LabelSelector::nothing(), namespace), (0, 0));
        assert_eq!(cost(&LabelSelector::everything(), namespace), (1000, 0));
        assert_eq!(cost(&"a=b".parse().unwrap(), namespace), (100, 1000));
    }
    assert_eq!(cost(&"a=b".parse().unwrap(), "other"), (0, 0), "objects of other namespaces were read");
}

// R150
#[test]
fn a_lister_reads_one_namespace_or_all() {
    let (store, mut writer) = Store::builder().resource("pods").build().unwrap();
    for key in ["web/a", "web/b", "db/a", "cluster-wide"] {
        put(&mut writer, pod(key).label("app", key.rsplit('/').next().unwrap()));
    }
    let all = LabelSelector::everything();
    assert_eq!(sorted(store.lister().namespace("web").list(&all)), ["web/a@0", "web/b@0"]);
    assert_eq!(sorted(store.in_namespace("db")), ["db/a@0"]);
    assert_eq!(store.lister().namespace("").list(&all).len(), 4);
    assert_eq!(store.lister().list(&"app=a".parse().unwrap()).len(), 2);
    assert_eq!(sorted(store.matching(&"app=b".parse().unwrap())), ["web/b@0"]);
    assert_eq!(*store.index_values(NAMESPACE).unwrap(), ["db".into(), "web".into()]);
    assert!(store.lister().namespace("web").get("a").is_ok());
    assert!(store.lister().get("cluster-wide").is_ok());
    let missing = store.lister().namespace("web").get("c").unwrap_err();
    assert_eq!(missing.to_string(), r#"pods "web/c" not found"#);
    assert_eq!(store.lister().get("web/c").unwrap_err(), missing);
}

#[test]
fn an_edit_is_published_completely_or_not_at_all() {
    let (store, mut writer) = store();
    let mut edit = writer.edit();
    edit.insert(Arc::new(pod("a").version(1))).unwrap();
    assert!(edit.get("a").is_some() && store.is_empty());
    drop(edit);
    assert_eq!(store.len(), 1);
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut edit = writer.edit();
        edit.insert(Arc::new(pod("b").version(2))).unwrap();
        panic!("during the edit");
    }));
    assert!(unwound.is_err());
    put(&mut writer, pod("c").version(3));
    assert_eq!(sorted(store.list()), ["a@1", "c@3"]);
}

#[test]
fn a_snapshot_does_not_change() {
    let (store, mut writer) = by_users();
    put(&mut writer, pod("a").version(1).label("users", "ernie"));
    let snapshot = store.snapshot();
    put(&mut writer, pod("a").version(2).label("users", "bert"));
    put(&mut writer, pod("b").version(3));
    assert_eq!(sorted(snapshot.list()), ["a@1"]);
    assert_eq!(snapshot.version(), Some(&rv(1)));
    assert_eq!(snapshot.by_index("users", "ernie").unwrap().len(), 1);
    assert!(snapshot.by_index("users", "bert").unwrap().is_empty());
    assert_eq!(sorted(store.list()), ["a@2", "b@3"]);
}

#[tokio::test]
async fn waits_until_the_store_reaches_a_version() {
    let (store, mut writer) = store();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move {
            store.wait_for(&rv(5)).await.unwrap();
            store.get("a").as_deref().map(version_of)
        }
    });
    tokio::task::yield_now().await;
    put(&mut writer, pod("a").version(4));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    put(&mut writer, pod("a").version(6));
    assert_eq!(waiting.await.unwrap(), Some(6));
    store.wait_for(&rv(6)).await.unwrap();
}

#[tokio::test]
async fn waiting_fails_if_the_version_cannot_be_reached() {
    let (store, mut writer) = Store::<Pod>::builder().resource("pods").build().unwrap();
    put(&mut writer, pod("a").version(4));
    let opaque: ResourceVersion = "opaque".parse().unwrap();
    let incomparable = WaitError::Incomparable { wanted: opaque.clone(), held: rv(4) };
    assert_eq!(store.wait_for(&opaque).await, Err(incomparable));
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.wait_for(&rv(5)).await }
    });
    tokio::task::yield_now().await;
    drop(writer);
    let closed = waiting.await.unwrap().unwrap_err();
    assert_eq!(closed.to_string(), "store of pods closed before it reached version 5");
    assert_eq!(store.wait_for(&rv(4)).await, Ok(()), "reached before the store was closed");
}

/// Readers on other threads never see a partial relist, or indexes that do not match the objects.
#[test]
fn concurrent_readers_see_a_consistent_state() {
    let (store, mut writer) = Store::builder()
        .index("generation", |pod: &Pod| {
            pod.metadata.labels.as_ref().and_then(|labels| labels.get("g").cloned())
        })
        .build()
        .unwrap();
    let generation = |number: u64| {
        (0..50).map(move |pod_number| {
            pod(&format!("ns/{pod_number}")).version(number).label("g", &number.to_string())
        })
    };
    replace(&mut writer, generation(1), 1);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut last = 0;
                    let mut is_last = false;
                    while !is_last {
                        is_last = stop.load(Ordering::Relaxed);
                        let snapshot = store.snapshot();
                        let versions: BTreeSet<_> =
                            snapshot.iter().map(|entry| version_of(&entry.object())).collect();
                        let version = snapshot.version().and_then(ResourceVersion::to_number).unwrap();
                        assert_eq!(versions, BTreeSet::from([version]), "partial relist");
                        assert_eq!(snapshot.by_index("generation", &version.to_string()).unwrap().len(), 50);
                        assert!(last <= version, "the version decreased");
                        last = version;
                    }
                    last
                })
            })
            .collect();
        for number in 2..500 {
            replace(&mut writer, generation(number), number);
        }
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() >= 1);
        }
    });
}

// R107
#[test]
fn an_index_added_during_writes_contains_all_objects() {
    let (store, mut writer) = store();
    std::thread::scope(|scope| {
        let adder = scope.spawn(|| {
            while store.len() < 200 {
                std::thread::yield_now();
            }
            store.add_index("users", users).unwrap();
            let snapshot = store.snapshot();
            (snapshot.len(), snapshot.by_index("users", "ernie").unwrap().len())
        });
        for number in 0..2000 {
            put(&mut writer, pod(&number.to_string()).label("users", "ernie"));
        }
        let (objects, indexed) = adder.join().unwrap();
        assert_eq!(objects, indexed);
    });
    assert_eq!(store.by_index("users", "ernie").unwrap().len(), 2000);
}

#[test]
fn an_object_can_have_thousands_of_index_values() {
    let (store, mut writer) = by_users();
    let many = |from: u32| (from..from + 20_000).map(|user| user.to_string()).collect::<Vec<_>>().join(",");
    put(&mut writer, pod("a").label("users", &many(0)));
    put(&mut writer, pod("a").label("users", &many(1)));
    assert!(store.by_index("users", "0").unwrap().is_empty());
    assert_eq!(store.by_index("users", "20000").unwrap().len(), 1);
    assert_eq!(store.index_values("users").unwrap().len(), 20_000);
}

#[test]
fn debug_output_does_not_contain_objects() {
    let (store, mut writer) = store();
    put(&mut writer, pod("a").label("password", "hunter2"));
    let printed = format!("{store:?} {:?} {:?} {writer:?}", store.snapshot(), store.lister());
    assert!(printed.contains("len: 1") && !printed.contains("hunter2"), "{printed}");
}

#[test]
fn the_default_name_is_the_kind() {
    use kube_core::metadata::PartialObjectMeta;
    let (pods, _writer) = store();
    assert_eq!(pods.lister().get("a").unwrap_err().resource, "Pod");
    let (partial, _writer) = Store::<PartialObjectMeta<Pod>>::builder().build().unwrap();
    assert_eq!(partial.lister().get("a").unwrap_err().resource, "Pod");
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u8, u8),
    Remove(u8),
    Replace(BTreeMap<u8, u8>),
    AddIndex,
    Snapshot,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        // Many keys, so that trie nodes are split and merged.
        20 => (any::<u8>(), any::<u8>()).prop_map(|(key, users)| Op::Insert(key, users)),
        18 => any::<u8>().prop_map(Op::Remove),
        1 => proptest::collection::btree_map(any::<u8>(), any::<u8>(), 0..120).prop_map(Op::Replace),
        1 => Just(Op::AddIndex),
        1 => Just(Op::Snapshot),
    ];
    proptest::collection::vec(op, 0..600)
}

fn key_of(number: u8) -> String {
    format!("ns{}/{number}", number % 3)
}

/// Returns the users whose bit is set in the lowest three bits.
fn users_of(bits: u8) -> Vec<String> {
    (0..3).filter(|bit| bits >> bit & 1 == 1).map(|bit| format!("user{bit}")).collect()
}

fn model_pod(key: u8, bits: u8, version: u64) -> Pod {
    let pod = pod(&key_of(key)).version(version);
    if bits & 7 == 0 { pod } else { pod.label("users", &users_of(bits).join(",")) }
}

type Model = BTreeMap<u8, (u8, u64)>;

fn check(model: &Model, store: &super::Snapshot<Pod>, index: Option<&str>) -> Result<(), TestCaseError> {
    let brief_of = |(key, (_, version)): (&u8, &(u8, u64))| format!("{}@{version}", key_of(*key));
    let mut expected: Vec<_> = model.iter().map(brief_of).collect();
    expected.sort();
    prop_assert_eq!(sorted(store.iter().map(Entry::object)), expected);
    prop_assert_eq!(store.len(), model.len());
    for key in 0..=u8::MAX {
        let found = store.get(key_of(key).as_str()).as_deref().map(version_of);
        prop_assert_eq!(found, model.get(&key).map(|(_, version)| *version));
    }
    let mut indexes: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
    for (key, (bits, _)) in model {
        indexes.entry((NAMESPACE, format!("ns{}", key % 3))).or_default().insert(key_of(*key));
        for user in index.iter().flat_map(|_| users_of(*bits)) {
            indexes.entry(("users", user)).or_default().insert(key_of(*key));
        }
    }
    for name in [Some(NAMESPACE), index].into_iter().flatten() {
        let values: Vec<_> =
            indexes.keys().filter(|(index, _)| *index == name).map(|(_, value)| value).collect();
        let found = store.index_values(name).unwrap();
        prop_assert_eq!(found.iter().map(|value| &**value).collect::<Vec<_>>(), values);
    }
    for ((name, value), keys) in indexes {
        let found: BTreeSet<_> =
            store.index_keys(name, &value).unwrap().iter().map(ToString::to_string).collect();
        prop_assert_eq!(found, keys);
    }
    Ok(())
}

proptest! {
    // R101, R104, R105, R106, R107, R108
    #[test]
    fn behaves_like_a_simple_model(ops in ops()) {
        let (store, mut writer) = store();
        let mut model = Model::new();
        let mut index = None;
        let mut clock = 0;
        let mut snapshots = Vec::new();
        for op in ops {
            clock += 1;
            match op {
                Op::Insert(key, bits) => {
                    put(&mut writer, model_pod(key, bits, clock));
                    model.insert(key, (bits, clock));
                }
                Op::Remove(key) => {
                    let removed = writer.edit().remove(key_of(key).as_str()).map(|pod| version_of(pod.get()));
                    prop_assert_eq!(removed, model.remove(&key).map(|(_, version)| version));
                }
                Op::Replace(objects) => {
                    let pods = objects.iter().map(|(key, bits)| model_pod(*key, *bits, clock));
                    replace(&mut writer, pods, clock);
                    model = objects.iter().map(|(key, bits)| (*key, (*bits, clock))).collect();
                }
                Op::AddIndex => {
                    prop_assert_eq!(store.add_index("users", users).is_ok(), index.is_none());
                    index = Some("users");
                }
                Op::Snapshot => snapshots.push((model.clone(), store.snapshot(), index)),
            }
        }
        snapshots.push((model, store.snapshot(), index));
        for (model, snapshot, index) in snapshots {
            check(&model, &snapshot, index)?;
        }
    }
}
