//! Watches: start versions, events and ends.

use crate::maps::Maps;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_conformance::{Server, claims, in_time};
use kube_informer::{
    source::{Error, ListerWatcher, RawObject, Watch},
    wire::{
        ContentHash, FieldSelector, Frames, Items, LabelSelector, ManagedFields, Raw, ResourceVersion,
        VersionMatch, WatchEvent, WatchOptions,
    },
};
use serde_json::json;
use std::time::Duration;

claims! {
    shared: [
        a_watch_delivers_the_changes_after_its_version,
        a_watch_without_a_version_starts_with_all_objects,
        a_streaming_list_ends_with_its_bookmark,
        bookmarks_follow_the_newest_version,
        a_watch_ends_after_its_timeout,
        objects_that_start_and_stop_to_match_a_selector_are_added_and_deleted,
        contradicting_options_are_refused,
        a_streaming_list_at_a_future_version_is_refused_as_too_large,
        an_object_has_the_same_bytes_in_lists_and_watches,
    ],
    alone: [a_watch_from_a_compacted_version_has_expired],
}

/// Returns an event as `added name`, with its version.
fn said(event: WatchEvent<RawObject<ConfigMap>>) -> (String, u64) {
    let of = |word: &str, map: RawObject<ConfigMap>| {
        let map = map.into_object().unwrap();
        let version = map.metadata.resource_version.as_deref().unwrap().parse().unwrap();
        (format!("{word} {}", map.metadata.name.as_deref().unwrap()), version)
    };
    match event {
        WatchEvent::Added(map) => of("added", map),
        WatchEvent::Modified(map) => of("modified", map),
        WatchEvent::Deleted(map) => of("deleted", map),
        WatchEvent::Bookmark { version, initial_events_end } => {
            let word = if initial_events_end { "end" } else { "bookmark" };
            (word.into(), version.to_number().unwrap())
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the next event.
async fn next(watch: &mut Watch<ConfigMap>) -> (String, u64) {
    said(in_time("an event", watch.next()).await.expect("the watch goes on").unwrap())
}

/// Returns the next events without their versions, which must increase.
async fn told(watch: &mut Watch<ConfigMap>, count: usize) -> Vec<String> {
    let (mut events, mut last) = (Vec::new(), 0);
    while events.len() < count {
        let (event, version) = next(watch).await;
        assert!(version > last, "{event} at {version} comes after {last}");
        last = version;
        if event != "bookmark" {
            events.push(event);
        }
    }
    events
}

async fn a_watch_delivers_the_changes_after_its_version(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let old = maps.create("a").await;
    maps.create("b").await;
    let changed = maps.change("a", "1").await;
    maps.delete("b").await;
    let expected = ["added b", "modified a", "deleted b", "added c"];
    for (version, passed) in [(old, 0), (changed, 2)] {
        let mut watch = maps.source().watch(&WatchOptions::after(version)).await.unwrap();
        if passed == 0 {
            maps.create("c").await;
        }
        assert_eq!(told(&mut watch, expected.len() - passed).await, expected[passed..]);
    }
}

async fn a_watch_without_a_version_starts_with_all_objects(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for name in ["a", "b"] {
        maps.create(name).await;
    }
    for version in [None, Some(ResourceVersion::ANY)] {
        // With bookmarks, the end of the initial objects is marked, even without a request for a streamed list.
        for allow_watch_bookmarks in [false, true] {
            let options = WatchOptions {
                resource_version: version.clone(),
                allow_watch_bookmarks,
                ..WatchOptions::default()
            };
            let mut watch = maps.source().watch(&options).await.unwrap();
            let mut first = [next(&mut watch).await.0, next(&mut watch).await.0];
            first.sort();
            assert_eq!(first, ["added a", "added b"]);
            if allow_watch_bookmarks {
                assert_eq!(next(&mut watch).await.0, "end");
            }
        }
    }
}

async fn a_streaming_list_ends_with_its_bookmark(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    for name in ["a", "b", "c"] {
        maps.create(name).await;
    }
    maps.delete("b").await;
    let newest = maps.version().await;
    for version in [None, Some(ResourceVersion::ANY), Some(newest.clone())] {
        let mut watch = maps.source().watch(&WatchOptions::streaming_list(version)).await.unwrap();
        let mut first = [next(&mut watch).await.0, next(&mut watch).await.0];
        first.sort();
        assert_eq!(first, ["added a", "added c"]);
        let (end, version) = next(&mut watch).await;
        assert_eq!(end, "end");
        assert!(version >= newest.to_number().unwrap());
        maps.change("a", &version.to_string()).await;
        assert_eq!(told(&mut watch, 1).await, ["modified a"]);
    }
}

async fn bookmarks_follow_the_newest_version(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let newest = maps.version().await;
    // The API server sends one some seconds before it ends a watch, if not earlier.
    let timeout = Some(Duration::from_secs(6));
    let options = WatchOptions { timeout, ..WatchOptions::after(newest.clone()) };
    let mut watch = maps.source().watch(&options).await.unwrap();
    let (event, version) = next(&mut watch).await;
    assert_eq!(event, "bookmark");
    assert!(version >= newest.to_number().unwrap());
}

async fn a_watch_ends_after_its_timeout(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let timeout = Some(Duration::from_secs(1));
    let version = Some(maps.version().await);
    let options = WatchOptions { timeout, resource_version: version, ..WatchOptions::default() };
    let mut watch = maps.source().watch(&options).await.unwrap();
    assert!(in_time("the watch", watch.next()).await.is_none());
}

async fn objects_that_start_and_stop_to_match_a_selector_are_added_and_deleted(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let begin = maps.create("a").await;
    let labels: LabelSelector = "colour in (red, blue)".parse().unwrap();
    let fields: FieldSelector = "metadata.name!=c".parse().unwrap();
    let source = maps.source().labels(labels).fields(fields);
    let mut watch = source.watch(&WatchOptions::after(begin)).await.unwrap();
    maps.label("a", "colour", Some("red")).await;
    maps.create_with("c", json!({ "labels": { "colour": "red" } })).await;
    maps.label("a", "colour", Some("blue")).await;
    let left = maps.label("a", "colour", Some("green")).await;
    maps.change("a", "unseen").await;
    maps.create_with("b", json!({ "labels": { "colour": "blue" } })).await;
    maps.delete("b").await;
    maps.delete("a").await;
    maps.create_with("d", json!({ "labels": { "colour": "red" } })).await;
    let expected = ["added a", "modified a", "deleted a", "added b", "deleted b", "added d"];
    let mut events = Vec::new();
    while events.len() < expected.len() {
        let event = next(&mut watch).await;
        if event.0 != "bookmark" {
            events.push(event);
        }
    }
    assert!(events.iter().map(|(event, _)| event).eq(&expected), "{events:?}");
    // An object that no longer matches is deleted at the version of the change.
    assert_eq!(events[2].1, left.to_number().unwrap());
}

async fn contradicting_options_are_refused(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let version = Some(maps.version().await);
    for (send_initial_events, resource_version_match) in [
        (Some(true), None),
        (Some(true), Some(VersionMatch::Exact)),
        (Some(false), None),
        (None, Some(VersionMatch::NotOlderThan)),
        (None, Some(VersionMatch::Exact)),
    ] {
        let resource_version = version.clone();
        let options = WatchOptions {
            send_initial_events,
            resource_version_match,
            resource_version,
            ..WatchOptions::default()
        };
        let error = maps.source().watch(&options).await.unwrap_err();
        assert_eq!(error.as_status().unwrap().code, 422, "{options:?}");
    }
}

async fn a_streaming_list_at_a_future_version_is_refused_as_too_large(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let future = ResourceVersion::number(maps.version().await.to_number().unwrap() + 1_000_000);
    let error = failure(maps.source().watch(&WatchOptions::streaming_list(Some(future))).await).await;
    assert!(error.is_version_too_large(), "{error:?}");
}

async fn a_watch_from_a_compacted_version_has_expired(server: &Server) {
    let maps = Maps::<Secret>::new(server).await;
    let old = maps.create("a").await;
    maps.change("a", "1").await;
    maps.change("a", "2").await;
    server.forget_history().await;
    let error = failure(maps.source().watch(&WatchOptions::after(old)).await).await;
    assert!(error.is_expired(), "{error:?}");
}

/// Returns the error of a watch, from the response or the first event.
async fn failure<K>(opened: Result<Watch<K>, Error>) -> Error {
    match opened {
        Err(error) => error,
        Ok(mut watch) => match in_time("the watch", watch.next()).await {
            Some(Ok(WatchEvent::Error(status))) => Error::status(*status),
            Some(Err(error)) => error,
            Some(Ok(_)) | None => panic!("the watch did not fail"),
        },
    }
}

/// Returns the body of a response in an encoding.
async fn body(maps: &Maps<ConfigMap>, path: &str, encoding: &str) -> Vec<u8> {
    let path = format!("/api/v1/namespaces/{}/configmaps{path}", maps.namespace);
    let request = http::Request::get(path).header("accept", encoding);
    let response = maps.client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

/// A relist recognizes unchanged objects by their content, so that the same version must have the same bytes everywhere.
// A4
async fn an_object_has_the_same_bytes_in_lists_and_watches(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let before = maps.version().await;
    maps.create_with(
        "a",
        json!({ "labels": { "b": "1", "a": "2" }, "annotations": { "z": "", "y": "\u{e9}<>&" } }),
    )
    .await;
    maps.patch("a", json!({ "data": { "second": "2", "first": "1" } })).await;
    let encodings = [
        (
            "application/json",
            "application/json",
            Frames::json as fn() -> Frames,
            Items::json as fn() -> Items,
        ),
        (
            "application/vnd.kubernetes.protobuf",
            "application/vnd.kubernetes.protobuf;stream=watch",
            Frames::protobuf,
            Items::protobuf,
        ),
    ];
    let hashes = |raw: &Raw| -> [ContentHash; 2] {
        [ManagedFields::Keep, ManagedFields::Drop].map(|managed_fields| raw.content_hash(managed_fields))
    };
    for (list, watch, frames, items) in encodings {
        let mut items = items();
        items.push(body(&maps, "", list).await.into());
        let listed = hashes(&std::iter::from_fn(|| items.next().unwrap()).last().unwrap());
        let stream =
            "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        for query in [format!("?watch=1&resourceVersion={before}"), stream.to_owned()] {
            let mut frames = frames();
            frames.push(body(&maps, &format!("{query}&timeoutSeconds=1"), watch).await.into());
            let events = std::iter::from_fn(|| frames.next().unwrap()).map(|frame| frame.split().unwrap());
            let last = events.filter_map(|event| match event {
                WatchEvent::Added(raw) | WatchEvent::Modified(raw) => Some(raw),
                _ => None,
            });
            assert_eq!(hashes(&last.last().unwrap()), listed, "{list} {query}");
        }
    }
}
