//! Tests of when the changes of a writer become visible.

use super::{Store, Writer};
use crate::event::Event;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer_wire::ResourceVersion;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

fn config_map(name: u64, version: u64) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(format!("map-{name}"));
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

fn store() -> (Store<ConfigMap>, Writer<ConfigMap>) {
    Store::builder().build().unwrap()
}

fn contents(objects: &[Arc<ConfigMap>]) -> BTreeMap<String, String> {
    let text = |text: &Option<String>| text.clone().unwrap();
    objects.iter().map(|map| (text(&map.metadata.name), text(&map.metadata.resource_version))).collect()
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u64),
    Remove(u64),
    /// An edit of two objects.
    Edit(u64),
    /// An edit that is discarded by a panic.
    Panic(u64),
    Read,
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..40_u64).prop_map(Step::Insert),
        2 => (0..40_u64).prop_map(Step::Remove),
        2 => (0..40_u64).prop_map(Step::Edit),
        1 => (0..40_u64).prop_map(Step::Panic),
        2 => Just(Step::Read),
        1 => Just(Step::Snapshot),
    ]
}

proptest! {
    /// Every read returns all changes before it, and a snapshot never changes, no matter which changes were read before.
    #[test]
    fn reads_return_all_changes_before_them(steps in proptest::collection::vec(step(), 0..200)) {
        let (store, mut writer) = store();
        let mut model = BTreeMap::new();
        let mut snapshots = Vec::new();
        for (version, step) in steps.into_iter().enumerate() {
            let version = version as u64 + 1;
            let mut insert = |number: u64| model.insert(format!("map-{number}"), version.to_string());
            match step {
                Step::Insert(number) => {
                    insert(number);
                    writer.insert(config_map(number, version)).unwrap();
                }
                Step::Remove(number) => {
                    model.remove(&format!("map-{number}"));
                    writer.remove(format!("map-{number}").as_str());
                }
                Step::Edit(number) => {
                    let mut edit = writer.edit();
                    for number in [number, number + 1] {
                        insert(number);
                        edit.insert(config_map(number, version)).unwrap();
                    }
                }
                Step::Panic(number) => {
                    let discarded = catch_unwind(AssertUnwindSafe(|| {
                        let mut edit = writer.edit();
                        edit.insert(config_map(number, version)).unwrap();
                        std::panic::resume_unwind(Box::new("discard the edit"));
                    }));
                    prop_assert!(discarded.is_err());
                }
                Step::Read => prop_assert_eq!(contents(&store.list()), model.clone()),
                Step::Snapshot => snapshots.push((store.snapshot(), model.clone())),
            }
        }
        snapshots.push((store.snapshot(), model));
        for (snapshot, model) in snapshots {
            prop_assert_eq!(contents(&snapshot.list()), model);
        }
    }
}

/// A thread that was informed of a change reads it, while the writer continues.
#[test]
fn another_thread_reads_every_change_that_it_knows_of() {
    const WRITES: u64 = 20_000;
    let (store, mut writer) = store();
    writer.insert(config_map(0, 1)).unwrap();
    let written = AtomicU64::new(1);
    thread::scope(|scope| {
        for reader in 0..3 {
            let (store, written) = (&store, &written);
            scope.spawn(move || {
                let mut before = 0;
                while before < WRITES {
                    let known = written.load(Ordering::Acquire);
                    let version = store.version().and_then(|version| version.to_number()).unwrap();
                    assert!(version >= known, "reads {version} although {known} was written");
                    assert!(version >= before, "reads {version} after {before}");
                    before = version;
                    // The other readers leave pauses, in which changes are not published.
                    if reader > 0 {
                        thread::yield_now();
                    }
                }
            });
        }
        for version in 2..=WRITES {
            writer.insert(config_map(version % 50, version)).unwrap();
            written.store(version, Ordering::Release);
        }
    });
    assert_eq!(store.version(), Some(ResourceVersion::number(WRITES)));
    assert_eq!(store.len(), 50);
}

/// Index functions run while the store is locked.
#[test]
fn an_index_function_can_read_the_store() {
    let (done, is_done) = mpsc::channel();
    // On its own thread, so that a deadlock is a failure.
    let test = thread::spawn(move || {
        check_index_function_that_reads_the_store();
        done.send(()).unwrap();
    });
    let result = is_done.recv_timeout(Duration::from_secs(60));
    assert_ne!(result, Err(mpsc::RecvTimeoutError::Timeout), "the index function waits for its own writer");
    test.join().unwrap();
}

fn check_index_function_that_reads_the_store() {
    let own: Arc<OnceLock<Store<ConfigMap>>> = Arc::default();
    let seen = Arc::clone(&own);
    let size = move |_: &ConfigMap| seen.get().map(|store| store.len().to_string());
    let (store, mut writer) = Store::builder().index("size", size).build().unwrap();
    own.set(store.clone()).unwrap();
    for number in 0..4 {
        assert!(matches!(writer.insert(config_map(number, number)).unwrap(), Event::Added { .. }));
    }
    let mut edit = writer.edit();
    for number in 4..6 {
        edit.insert(config_map(number, number)).unwrap();
    }
    drop(edit);
    assert_eq!(store.len(), 6);
    // Each object is indexed by the number of objects before it.
    for number in 0..6 {
        let indexed = store.by_index("size", &number.to_string()).unwrap();
        assert_eq!(contents(&indexed), contents(&[config_map(number, number)]));
    }
}

#[test]
fn changes_that_are_not_read_do_not_copy_nodes() {
    let (store, mut writer) = store();
    for number in 0..1000 {
        writer.insert(config_map(number, 1)).unwrap();
    }
    assert_eq!(store.len(), 1000);
    // The first change after a read copies its path and is published. The others change the copy in place.
    writer.insert(config_map(0, 2)).unwrap();
    let root = writer.working_root();
    for version in 3..=4 {
        writer.insert(config_map(0, version)).unwrap();
        assert_eq!(writer.working_root(), root, "a node was copied");
    }
    assert_eq!(store.get("map-0").unwrap().metadata.resource_version.as_deref(), Some("4"));
    writer.insert(config_map(0, 5)).unwrap();
    assert_ne!(writer.working_root(), root, "a published node was changed");
}

#[test]
fn objects_that_were_replaced_are_freed_without_a_read() {
    let (store, mut writer) = store();
    writer.insert(config_map(1, 1)).unwrap();
    assert_eq!(store.len(), 1);
    for remove in [false, true] {
        let object = config_map(0, 1);
        let replaced = Arc::downgrade(&object);
        writer.insert(object).unwrap();
        if remove {
            writer.remove("map-0");
        } else {
            writer.insert(config_map(0, 2)).unwrap();
        }
        writer.insert(config_map(1, 2)).unwrap();
        assert!(replaced.upgrade().is_none(), "the published state holds the object");
    }
}
