//! The overlay of own writes, in every order of the write's response and the events of the watch.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{ResourceVersion, Store, cache::Writer, controller::MutationCache, wire::Key};
use std::sync::Arc;

/// A store at version 1 with object `a`, and its overlay.
struct Fixture {
    writer: Writer<ConfigMap>,
    cache: MutationCache<ConfigMap>,
    key: Key,
}

fn map(uid: &str, version: u64) -> ConfigMap {
    let mut map = crate::cluster::named("a");
    map.metadata.uid = Some(uid.to_owned());
    map.metadata.resource_version = Some(version.to_string());
    map
}

impl Fixture {
    fn new() -> Self {
        let (store, writer) = Store::builder().build().unwrap();
        let cache = MutationCache::new(&store);
        let mut fixture = Self { writer, cache, key: "a".parse().unwrap() };
        fixture.observe(map("1", 1));
        fixture
    }

    /// Stores an object that the watch delivers, with its version.
    fn observe(&mut self, map: ConfigMap) {
        self.writer.edit().insert(Arc::new(map)).unwrap();
    }

    /// Removes the object, at this version.
    fn observe_deletion(&mut self, version: u64) {
        let mut edit = self.writer.edit();
        edit.remove(&self.key).unwrap();
        edit.set_version(ResourceVersion::number(version));
    }

    /// Returns the uid and the version of the object.
    fn get(&self) -> Option<String> {
        let map = self.cache.get(&self.key)?;
        let metadata = &map.metadata;
        Some(format!("{}@{}", metadata.uid.as_ref().unwrap(), metadata.resource_version.as_ref().unwrap()))
    }
}

#[test]
fn an_own_write_is_dropped_when_the_store_has_its_version_or_a_newer_one() {
    for (observed, expected, pending) in [(2, "1@3", 1), (3, "1@3", 0), (4, "1@4", 0)] {
        let mut fixture = Fixture::new();
        fixture.cache.written(map("1", 3)).unwrap();
        assert_eq!(fixture.get().as_deref(), Some("1@3"));
        fixture.observe(map("1", observed));
        assert_eq!((fixture.get().as_deref(), fixture.cache.pending()), (Some(expected), pending));
    }
}

#[test]
fn an_own_write_does_not_hide_a_later_deletion() {
    for (deleted, expected) in [(2, Some("1@3")), (4, None)] {
        let mut fixture = Fixture::new();
        fixture.cache.written(map("1", 3)).unwrap();
        fixture.observe_deletion(deleted);
        assert_eq!(fixture.get().as_deref(), expected, "deleted at version {deleted}");
    }
}

#[test]
fn own_writes_of_deleted_objects_are_freed_without_being_read() {
    let mut fixture = Fixture::new();
    for number in 1..=1000 {
        let mut written = map("1", number);
        written.metadata.name = Some(format!("map-{number}"));
        fixture.cache.written(written).unwrap();
        // The object is deleted before its next read.
        fixture.writer.edit().set_version(ResourceVersion::number(number));
    }
    assert!(fixture.cache.pending() < 100, "{} of 1,000 objects", fixture.cache.pending());
}

#[test]
fn an_own_write_that_is_reported_after_its_deletion_is_ignored() {
    let mut fixture = Fixture::new();
    fixture.observe(map("1", 2));
    fixture.observe_deletion(3);
    fixture.cache.written(map("1", 2)).unwrap();
    assert_eq!((fixture.get(), fixture.cache.pending()), (None, 0));
}

#[test]
fn an_own_write_that_is_reported_after_the_object_was_created_again_is_ignored() {
    let mut fixture = Fixture::new();
    fixture.observe(map("1", 2));
    fixture.observe_deletion(3);
    fixture.observe(map("2", 4));
    fixture.cache.written(map("1", 2)).unwrap();
    assert_eq!((fixture.get().as_deref(), fixture.cache.pending()), (Some("2@4"), 0));
}

#[test]
fn an_own_creation_is_dropped_when_the_object_was_created_and_deleted_between_two_reads() {
    let mut fixture = Fixture::new();
    fixture.observe_deletion(2);
    fixture.cache.written(map("2", 3)).unwrap();
    assert_eq!(fixture.get().as_deref(), Some("2@3"), "before the watch delivers it");
    // The watch delivers neither the creation nor the deletion, as after a relist.
    fixture.writer.edit().set_version(ResourceVersion::number(5));
    assert_eq!((fixture.get(), fixture.cache.pending()), (None, 0));
}
