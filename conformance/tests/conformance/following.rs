//! The cache reflects concurrent writes in any order.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_conformance::{CheckedInformer, Random, Server, claims, strategies};
use kube_informer::{
    cache::Store,
    wire::{FieldSelector, LabelSelector},
};
use serde_json::json;
use tokio::task::JoinSet;

claims! {
    shared: [
        thousands_of_concurrent_writes_are_cached,
        objects_enter_and_leave_a_cache_with_a_selector,
        an_object_with_a_finalizer_is_deleted_when_it_is_removed,
        an_object_that_is_created_again_has_another_uid,
    ],
    alone: [],
}

/// The number of writers, and of writes per writer.
const WRITERS: u64 = 8;
const WRITES: u64 = 300;

async fn thousands_of_concurrent_writes_are_cached(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let informers = strategies().map(|config| CheckedInformer::start(maps.source(), config));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(maps.api.clone(), writer));
    }
    while let Some(ended) = writers.join_next().await {
        ended.unwrap();
    }
    for informer in informers {
        informer.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(informer.lists(), 1, "one list: {:#?}", informer.reports());
        assert_eq!(informer.unseen_deletions(), [""; 0]);
        informer.stop().await;
    }
}

async fn objects_enter_and_leave_a_cache_with_a_selector(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create_with("first", json!({ "labels": { "colour": "red" } })).await;
    maps.create("other").await;
    let (labels, fields) = ("colour=red", "metadata.name!=never");
    let selected = ListParams::default().labels(labels).fields(fields);
    let informers = strategies().map(|config| {
        let (labels, fields): (LabelSelector, FieldSelector) =
            (labels.parse().unwrap(), fields.parse().unwrap());
        CheckedInformer::start(maps.source().labels(labels).fields(fields), config)
    });
    for informer in &informers {
        informer.settled(&maps.api, &selected).await;
    }
    maps.label("other", "colour", Some("red")).await;
    maps.label("first", "colour", None).await;
    maps.create_with("never", json!({ "labels": { "colour": "red" } })).await;
    maps.label("first", "colour", Some("red")).await;
    maps.delete("first").await;
    let expected = ["added first", "added other", "deleted first", "added first", "deleted first"];
    for informer in informers {
        informer.until("the last event", |_| informer.events().len() >= expected.len()).await;
        assert_eq!(informer.events(), expected);
        informer.settled(&maps.api, &selected).await;
        assert_eq!(informer.lists(), 1);
        informer.stop().await;
    }
}

async fn an_object_with_a_finalizer_is_deleted_when_it_is_removed(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create_with("held", json!({ "finalizers": ["example.com/hold"] })).await;
    let informers = strategies().map(|config| CheckedInformer::start(maps.source(), config));
    for informer in &informers {
        informer.settled(&maps.api, &ListParams::default()).await;
    }
    maps.delete("held").await;
    for informer in &informers {
        let is_going = |map: &ConfigMap| map.metadata.deletion_timestamp.is_some();
        // The cache is at least as new as the delivered events.
        let is_told = |store: &Store<ConfigMap>| {
            store.list().iter().any(|map| is_going(map)) && informer.events().len() >= 2
        };
        informer.until("its end in sight", is_told).await;
        assert_eq!(informer.events(), ["added held", "updated held"]);
    }
    maps.patch("held", json!({ "metadata": { "finalizers": null } })).await;
    for informer in informers {
        informer.until("its end", |store| store.is_empty()).await;
        informer.settled(&maps.api, &ListParams::default()).await;
        assert_eq!(informer.events(), ["added held", "updated held", "deleted held"]);
        informer.stop().await;
    }
}

async fn an_object_that_is_created_again_has_another_uid(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let informer = CheckedInformer::start(maps.source(), strategies()[0].clone());
    for _ in 0..3 {
        maps.create("phoenix").await;
        maps.delete("phoenix").await;
    }
    maps.create("phoenix").await;
    informer.settled(&maps.api, &ListParams::default()).await;
    let cached = informer.store.list();
    let uid = maps.api.get("phoenix").await.unwrap().metadata.uid;
    assert_eq!(cached[0].metadata.uid, uid);
    informer.stop().await;
}

/// Creates, updates and deletes a few objects many times.
async fn write(maps: Api<ConfigMap>, writer: u64) {
    let (mut random, mut alive) = (Random::new(writer), [false; 10]);
    for turn in 0..WRITES {
        let number = random.below(10) as usize;
        let name = format!("map-{writer}-{number}");
        match (alive[number], random.below(4)) {
            (false, _) => {
                let mut map = ConfigMap::default();
                map.metadata.name = Some(name);
                maps.create(&PostParams::default(), &map).await.unwrap();
                alive[number] = true;
            }
            (true, 0) => {
                maps.delete(&name, &DeleteParams::default()).await.unwrap();
                alive[number] = false;
            }
            (true, _) => {
                let patch = Patch::Merge(json!({ "data": { "turn": turn.to_string() } }));
                maps.patch(&name, &PatchParams::default(), &patch).await.unwrap();
            }
        }
    }
}
