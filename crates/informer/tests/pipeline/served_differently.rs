//! Objects that a server serves with other content under the same uid and version, such as after an upgrade with new defaults.

use crate::{
    restart::Folder,
    scripted_server::{client, list},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Event, Informer, Storage, Subscription,
    informer::{CacheState, Save},
    reflector::Strategy,
    source::ListWatch,
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Returns a list of object `a` with this value, and object `b`. Uids and versions are always the same.
fn list_with(value: &str) -> String {
    let map = |name: &str, value: &str| {
        let metadata = json!({ "name": name, "namespace": "default", "resourceVersion": "3", "uid": name });
        json!({ "metadata": metadata, "data": { "value": value } })
    };
    list(&[map("a", value), map("b", "same")])
}

/// Returns a watch that fails because its version has expired.
fn expired() -> String {
    let status = json!({ "kind": "Status", "status": "Failure", "code": 410, "reason": "Expired" });
    format!("{}\n", json!({ "type": "ERROR", "object": status }))
}

fn value(map: &ConfigMap) -> String {
    map.data.as_ref().unwrap()["value"].clone()
}

/// Receives all events until the end.
async fn received(mut events: Subscription<ConfigMap>) -> Vec<String> {
    let mut received = Vec::new();
    while let Some(event) = events.next().await {
        received.push(match &event {
            Event::Added { object, .. } => format!("+{}", value(object.get())),
            Event::Updated { old, new, .. } => format!("{} -> {}", value(old.get()), value(new.get())),
            _ => "other".to_owned(),
        });
    }
    received
}

/// Returns the events of a cache whose server restarts and serves object `a` with another value under the same uid and version.
async fn served_differently(storage: Storage, relisted_value: &str) -> Vec<String> {
    let responses = [list_with("old"), expired(), list_with(relisted_value)];
    let maps = Informer::from_source(ListWatch::<ConfigMap>::all(client(responses)))
        .storage(storage)
        .strategy(Strategy::List)
        .build()
        .unwrap();
    let events = maps.subscribe();
    maps.start();
    let mut status = maps.watch_status();
    status.wait_for(|status| status.counts.replaces == 2 && status.counts.watches == 2).await.unwrap();
    assert_eq!(value(&maps.get("default/a").unwrap()), relisted_value);
    maps.stop();
    maps.stopped().await;
    received(events).await
}

// A4
#[tokio::test(start_paused = true)]
async fn a_relist_with_other_content_under_the_same_version_is_an_update() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        assert_eq!(served_differently(storage, "new").await, ["+old", "+same", "old -> new"], "{storage:?}");
        assert_eq!(served_differently(storage, "old").await, ["+old", "+same"], "{storage:?}");
    }
}

/// Returns the events after a restart with a saved cache, whose version has expired on the server.
async fn restarted(storage: Storage, relisted_value: &str) -> Vec<String> {
    let folder = Folder::new();
    restarted_with(Save::from(&folder), storage, relisted_value).await
}

/// Returns the events after a restart of an informer without a transform.
async fn restarted_with(save: Save, storage: Storage, relisted_value: &str) -> Vec<String> {
    let maps = |responses: Vec<String>| {
        Informer::<ConfigMap>::builder(client(responses))
            .namespace("default")
            .storage(storage)
            .strategy(Strategy::List)
            .save_to(save.clone().cluster("mine"))
            .on_error(|_| {})
            .build()
            .unwrap()
    };
    let first = maps(vec![list_with("old")]);
    first.start();
    first.synced().await.unwrap();
    first.stop();
    first.stopped().await;

    // The first request reads the version of the server.
    let second = maps(vec![list_with(relisted_value), expired(), list_with(relisted_value)]);
    assert_eq!(second.status().cache, CacheState::Readable);
    assert_eq!(value(&second.get("default/a").unwrap()), "old");
    let events = second.subscribe();
    second.start();
    second.watch_status().wait_for(|status| status.counts.replaces == 1).await.unwrap();
    assert_eq!(value(&second.get("default/a").unwrap()), relisted_value);
    second.stop();
    second.stopped().await;

    // The new content was saved.
    let third = maps(Vec::new());
    assert_eq!(value(&third.get("default/a").unwrap()), relisted_value);
    let mut received = received(events).await;
    received.sort();
    received
}

// A4
#[tokio::test(start_paused = true)]
async fn other_content_under_the_same_version_is_an_update_after_a_restart() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        assert_eq!(restarted(storage, "new").await, ["+old", "+same", "old -> new"], "{storage:?}");
        assert_eq!(restarted(storage, "old").await, ["+old", "+same"], "{storage:?}");
    }
}

// A4
#[tokio::test(start_paused = true)]
async fn the_name_of_a_transform_without_a_transform_does_not_disable_the_comparison() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        for (value, expected) in
            [("new", &["+old", "+same", "old -> new"][..]), ("old", &["+old", "+same"][..])]
        {
            let folder = Folder::new();
            let save = Save::from(&folder).transform("v1");
            assert_eq!(restarted_with(save, storage, value).await, expected, "{storage:?}");
        }
    }
}

/// Returns a list of an object whose transform removes `removed`. Uid and version are always the same.
fn list_for_transform(kept: &str, removed: &str) -> String {
    let metadata = json!({ "name": "a", "namespace": "default", "resourceVersion": "3", "uid": "a" });
    list(&[json!({ "metadata": metadata, "data": { "value": kept, "removed": removed } })])
}

/// Returns the events after a restart of an informer with a transform, and the number of times that the transform ran.
async fn restarted_with_transform(storage: Storage, kept: &str, removed: &str) -> (Vec<String>, usize) {
    let (folder, runs) = (Folder::new(), Arc::new(AtomicUsize::new(0)));
    let maps = |responses: Vec<String>| {
        let runs = Arc::clone(&runs);
        Informer::<ConfigMap>::builder(client(responses))
            .namespace("default")
            .storage(storage)
            .strategy(Strategy::List)
            .transform(move |mut map: ConfigMap| {
                runs.fetch_add(1, Ordering::Relaxed);
                map.data.as_mut().unwrap().remove("removed");
                Ok(map)
            })
            .save_to(Save::from(&folder).cluster("mine").transform("v1"))
            .on_error(|_| {})
            .build()
            .unwrap()
    };
    let first = maps(vec![list_for_transform("old", "old")]);
    first.start();
    first.synced().await.unwrap();
    first.stop();
    first.stopped().await;

    runs.store(0, Ordering::Relaxed);
    let relisted = || list_for_transform(kept, removed);
    // The first request reads the version of the server. There are two relists.
    let second = maps(vec![relisted(), expired(), relisted(), expired(), relisted()]);
    let events = second.subscribe();
    second.start();
    second.watch_status().wait_for(|status| status.counts.replaces == 2).await.unwrap();
    let cached = second.get("default/a").unwrap();
    assert_eq!((value(&cached).as_str(), cached.data.as_ref().unwrap().len()), (kept, 1));
    second.stop();
    second.stopped().await;
    (received(events).await, runs.load(Ordering::Relaxed))
}

// A4
#[tokio::test(start_paused = true)]
async fn restored_objects_are_compared_before_their_transform() {
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        // The transform runs if the object that the server sends is new.
        let transformed = async |kept, removed| restarted_with_transform(storage, kept, removed).await;
        assert_eq!(
            transformed("new", "old").await,
            (vec!["+old".into(), "old -> new".into()], 1),
            "{storage:?}"
        );
        assert_eq!(
            transformed("old", "new").await,
            (vec!["+old".into(), "old -> old".into()], 1),
            "{storage:?}"
        );
        assert_eq!(transformed("old", "old").await, (vec!["+old".into()], 0), "{storage:?}");
    }
}
