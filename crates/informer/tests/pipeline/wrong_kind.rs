//! Responses with unexpected or malformed objects, from a scripted server.

use crate::scripted_server::{client, client_with, list};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, Resource,
    api::{ApiResource, DynamicObject},
};
use kube_informer::{
    Event, Informer, Lazy,
    cache::Store,
    event::Deletion,
    reflector::{Reflector, ReflectorPhase, Strategy},
    source::{Error, ListWatch, ListerWatcher, Pager},
    wire::ListOptions,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

fn object(api_version: &str, kind: &str, name: &str, version: u64) -> Value {
    let metadata = json!({ "name": name, "namespace": "default", "resourceVersion": version.to_string() });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
}

fn events(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{}\n", json!({ "type": "ADDED", "object": object }))).collect()
}

fn table(api_version: &str) -> Value {
    json!({ "kind": "Table", "apiVersion": api_version, "metadata": {}, "columnDefinitions": [], "rows": [] })
}

fn config_maps(client: Client) -> ListWatch<DynamicObject> {
    ListWatch::dynamic(client, Some("default"), &ApiResource::erase::<ConfigMap>(&()))
}

/// Returns the keys of the cache after all responses were read, its version, and the reports.
async fn reflect<K>(source: ListWatch<K>) -> (Vec<String>, String, Vec<String>)
where
    K: Resource + DeserializeOwned + Send + Sync + 'static,
{
    let (store, writer) = Store::builder().build().unwrap();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&reports);
    let reflector =
        Reflector::with_config(source, writer, crate::harness::listing()).on_error(move |report| {
            recorded.lock().unwrap().push(format!("{}: {}", report.resource, report.cause));
        });
    let (mut status, cancel) = (reflector.status(), CancellationToken::new());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status
        .wait_for(|status| status.phase == ReflectorPhase::Watching && status.counts.watches == 2)
        .await
        .unwrap();
    cancel.cancel();
    task.await.unwrap();
    let mut names: Vec<_> = store.keys().iter().map(ToString::to_string).collect();
    names.sort();
    let version = status.borrow().version.as_ref().map_or_else(String::new, ToString::to_string);
    let reports = reports.lock().unwrap().clone();
    (names, version, reports)
}

/// A list and a watch with one object of the kind and one of another kind each. The watch also has a table.
fn mixed() -> [String; 2] {
    let map = |name, version| object("v1", "ConfigMap", name, version);
    let service = |name, version| object("v1", "Service", name, version);
    [list(&[map("a", 1), service("s", 2)]), events(&[map("b", 6), service("t", 7), table("meta.k8s.io/v1")])]
}

// R16, R17, R24, R25
#[tokio::test(start_paused = true)]
async fn dynamic_objects_of_another_kind_are_skipped() {
    let lazy = ListWatch::<Lazy<DynamicObject>>::lazy_dynamic(
        client(mixed()),
        Some("default"),
        &ApiResource::erase::<ConfigMap>(&()),
    );
    for (names, version, reports) in [reflect(config_maps(client(mixed()))).await, reflect(lazy).await] {
        assert_eq!((names, version.as_str()), (vec!["default/a".into(), "default/b".into()], "6"));
        assert_eq!(
            reports,
            [
                "v1 ConfigMap: object default/s is a v1 Service, not a v1 ConfigMap",
                "v1 ConfigMap: object default/t is a v1 Service, not a v1 ConfigMap",
                "v1 ConfigMap: object without a name is a meta.k8s.io/v1 Table, not a v1 ConfigMap",
            ]
        );
    }
}

/// Returns an event of a config map that cannot be decoded.
fn undecodable(what: &str, name: &str, version: u64) -> String {
    let mut map = object("v1", "ConfigMap", name, version);
    map["data"] = json!(5);
    format!("{}\n", json!({ "type": what, "object": map }))
}

fn end_of_stream(version: u64) -> String {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    let metadata = json!({ "resourceVersion": version.to_string(), "annotations": annotations });
    format!("{}\n", json!({ "type": "BOOKMARK", "object": { "metadata": metadata } }))
}

// R45, R114
#[tokio::test(start_paused = true)]
async fn undecodable_deletions_delete_the_object() {
    let map = |name, version| object("v1", "ConfigMap", name, version);
    let watch = [
        undecodable("MODIFIED", "a", 6),
        undecodable("DELETED", "a", 7),
        undecodable("DELETED", "never", 8),
        events(&[map("c", 9)]),
    ]
    .concat();
    let responses = || [list(&[map("a", 1), map("b", 2)]), watch.clone()];
    let source = || ListWatch::<ConfigMap>::namespaced(client(responses()), "default");
    let (names, version, reports) = reflect(source()).await;
    assert_eq!((names, version.as_str()), (vec!["default/b".into(), "default/c".into()], "9"));
    assert_eq!(reports.len(), 3, "{reports:?}");

    let maps = Informer::from_source(source()).strategy(Strategy::List).on_error(|_| {}).build().unwrap();
    let mut events = maps.subscribe();
    maps.start();
    let mut received = Vec::new();
    while received.len() < 4 {
        let event = events.next().await.unwrap();
        let what = match &event {
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted { deletion: Deletion::Observed, .. } => "deleted",
            Event::Deleted { .. } => "deleted-inferred",
            other => panic!("{other:?}"),
        };
        received.push(format!("{what} {}", event.key().name()));
    }
    assert_eq!(received, ["added a", "added b", "deleted-inferred a", "added c"]);
}

// R45
#[tokio::test(start_paused = true)]
async fn objects_deleted_within_a_streaming_list_are_not_part_of_it() {
    let map = |name, version| object("v1", "ConfigMap", name, version);
    let stream = [
        events(&[map("a", 1), map("b", 2)]),
        undecodable("MODIFIED", "a", 3),
        undecodable("DELETED", "a", 4),
        undecodable("MODIFIED", "b", 5),
        end_of_stream(6),
    ]
    .concat();
    let source = ListWatch::<ConfigMap>::namespaced(client([stream]), "default");
    let maps = Informer::from_source(source).on_error(|_| {}).start().unwrap();
    let error = maps.synced().await.unwrap_err();
    let expected = "synced without default/b, which was skipped: object default/b cannot be decoded";
    assert!(
        error.is_skipped() && error.to_string().contains(expected),
        "the error of the other object: {error}"
    );
    // A later decodable version replaces the skipped one.
    let decodable =
        [undecodable("ADDED", "a", 1), events(&[object("v1", "ConfigMap", "a", 2)]), end_of_stream(3)]
            .concat();
    // Also right after the end of the list.
    let after = events(&[object("v1", "ConfigMap", "a", 4)]);
    for response in [decodable, [undecodable("ADDED", "a", 1), end_of_stream(3), after].concat()] {
        let source = ListWatch::<ConfigMap>::namespaced(client([response]), "default");
        Informer::from_source(source).on_error(|_| {}).start().unwrap().synced().await.unwrap();
    }
    // The last decodable state of the other object is kept.
    assert_eq!(maps.store().keys().iter().map(ToString::to_string).collect::<Vec<_>>(), ["default/b"]);
}

// R16, R24, R25
#[tokio::test(start_paused = true)]
async fn typed_objects_of_another_kind_are_skipped() {
    let (names, version, reports) =
        reflect(ListWatch::<ConfigMap>::namespaced(client(mixed()), "default")).await;
    assert_eq!((names, version.as_str()), (vec!["default/a".into(), "default/b".into()], "6"));
    assert_eq!(reports.len(), 3, "{reports:?}");
    assert_eq!(reports[0], "v1 ConfigMap: object default/s is a v1 Service, not a v1 ConfigMap");

    // A deletion of another kind does not delete the object with the same name.
    let deleted = json!({ "type": "DELETED", "object": object("v1", "Service", "a", 8) });
    let [listed, watched] = mixed();
    let responses = [listed, format!("{watched}{deleted}\n")];
    let (names, version, _) = reflect(ListWatch::<ConfigMap>::namespaced(client(responses), "default")).await;
    assert_eq!((names, version.as_str()), (vec!["default/a".into(), "default/b".into()], "6"));
}

#[tokio::test(start_paused = true)]
async fn objects_without_a_kind_are_accepted() {
    let mut untyped = object("", "", "a", 1);
    untyped.as_object_mut().unwrap().retain(|name, _| name == "metadata");
    let responses = [list(&[untyped]), events(&[object("v1", "ConfigMap", "b", 6)])];
    let (names, _, reports) = reflect(config_maps(client(responses))).await;
    assert_eq!((names.len(), reports.len()), (2, 0), "{names:?} {reports:?}");
}

// R16
#[tokio::test(start_paused = true)]
async fn a_table_instead_of_a_list_is_an_error() {
    for api_version in ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"] {
        let source = config_maps(client([table(api_version).to_string()]));
        let refused = Pager::new(&source).list::<DynamicObject>(&ListOptions::default()).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Table { api_version: found, .. } if found == api_version),
            "{refused:?}"
        );
    }
    let source = config_maps(client([r#"{"kind":"Status"}"#.to_owned()]));
    let refused = Pager::new(&source).list::<DynamicObject>(&ListOptions::default()).await.unwrap_err();
    assert!(matches!(refused, Error::List(_)), "{refused:?}");
}

// R16
#[tokio::test(start_paused = true)]
async fn a_custom_kind_named_table_is_accepted() {
    let kind = ApiResource {
        group: "custom.group".into(),
        version: "v1".into(),
        api_version: "custom.group/v1".into(),
        kind: "Table".into(),
        plural: "tables".into(),
    };
    let body = list(&[object("custom.group/v1", "Table", "a", 1)]);
    let source = ListWatch::<DynamicObject>::dynamic(client([body]), None, &kind);
    let listed = Pager::new(&source).list::<DynamicObject>(&ListOptions::default()).await.unwrap();
    assert_eq!((listed.items.len(), listed.undecodable.len()), (1, 0));
    assert_eq!(source.describe(), "custom.group/v1 Table");
}

// R15
#[tokio::test(start_paused = true)]
async fn objects_do_not_retain_their_page() {
    let page = Bytes::from(list(&[object("v1", "ConfigMap", "a", 1), object("v1", "ConfigMap", "b", 2)]));
    let source = config_maps(client([page.clone()]));
    let listed = Pager::new(&source).list::<DynamicObject>(&ListOptions::default()).await.unwrap();
    assert_eq!(listed.items.len(), 2);
    assert!(page.is_unique(), "only this test has the page");
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_lists_and_watches_are_counted() {
    let responses = mixed();
    let expected: usize = responses.iter().map(String::len).sum();
    let source = config_maps(client(responses));
    let (store, writer) = Store::<DynamicObject>::builder().build().unwrap();
    let source = Arc::new(source);
    let cancel = CancellationToken::new();
    let reflector = Reflector::with_config(Arc::clone(&source), writer, crate::harness::listing());
    let task = tokio::spawn(reflector.run(cancel.clone()));
    store.wait_for(&"6".parse().unwrap()).await.unwrap();
    cancel.cancel();
    task.await.unwrap();
    assert_eq!(source.bytes_read(), Some(expected as u64));
}

#[tokio::test(start_paused = true)]
async fn the_retry_delay_is_read_from_the_header_or_the_status() {
    for (header, seconds, expected) in [
        (Some("7"), 0, Some(7)),
        (None, 5, Some(5)),
        (Some("7"), 5, Some(7)),
        (Some("tomorrow"), 5, Some(5)),
        (None, 0, None),
    ] {
        let status = json!({ "kind": "Status", "code": 429, "details": { "retryAfterSeconds": seconds } });
        let mut response = http::Response::new(Full::new(status.to_string().into()).boxed());
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        let header = header.map(|header| (http::header::RETRY_AFTER, http::HeaderValue::from_static(header)));
        response.headers_mut().extend(header);
        let source = config_maps(client_with([response]));
        let refused = Pager::new(&source).list::<DynamicObject>(&ListOptions::default()).await.unwrap_err();
        assert_eq!(refused.retry_after(), expected.map(Duration::from_secs), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_without_progress_times_out() {
    // Pending trailers keep the body open.
    let begun = |body: &'static str| {
        let body = Full::new(Bytes::from_static(body.as_bytes()));
        http::Response::new(body.with_trailers(std::future::pending()).boxed())
    };
    let responses = [vec![begun("")], vec![begun("{\"items\":[{\"metadata\":")], vec![]];
    for responses in responses {
        let (source, began) = (config_maps(client_with(responses)), tokio::time::Instant::now());
        let (pager, options) = (Pager::new(&source), ListOptions::default());
        let failed = pager.list::<DynamicObject>(&options);
        let failed = tokio::time::timeout(Duration::from_secs(600), failed)
            .await
            .expect("the list times out")
            .unwrap_err();
        assert!(
            matches!(&failed, Error::Transport(cause) if cause.to_string() == "no data received for 90s"),
            "{failed:?}"
        );
        assert_eq!(began.elapsed().as_secs(), 90);
    }
}

/// Servers accept deeper objects than decoders do.
// R16, R25
#[tokio::test(start_paused = true)]
async fn deeply_nested_objects_are_skipped_in_lists_and_watches() {
    let map = |name, version| object("v1", "ConfigMap", name, version);
    let deep = |name, version| {
        let mut deep = map(name, version);
        deep["data"] = (0..200).fold(json!(1), |inside, _| json!({ "a": inside }));
        deep
    };
    let responses = || [list(&[deep("a", 1), map("b", 2)]), events(&[deep("c", 6), map("d", 7)])];
    let untyped = reflect(config_maps(client(responses()))).await;
    let typed = reflect(ListWatch::<ConfigMap>::namespaced(client(responses()), "default")).await;
    for (names, version, reports) in [untyped, typed] {
        assert_eq!((names, version.as_str()), (vec!["default/b".into(), "default/d".into()], "7"));
        assert_eq!(reports.len(), 2, "{reports:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_other_namespaces_are_skipped_and_reported() {
    let map = |namespace: &str, name: &str, version: u64| {
        let mut map = object("v1", "ConfigMap", name, version);
        map["metadata"]["namespace"] = namespace.into();
        map
    };
    let responses = || {
        let list = list(&[map("default", "a", 1), map("kube-system", "b", 2)]);
        [list, events(&[map("kube-system", "c", 6), map("default", "d", 7)])]
    };
    let typed = reflect(ListWatch::<ConfigMap>::namespaced(client(responses()), "default")).await;
    for (names, version, reports) in [typed, reflect(config_maps(client(responses()))).await] {
        assert_eq!((names, version.as_str()), (vec!["default/a".to_owned(), "default/d".to_owned()], "7"));
        let reported = |key: &str| {
            let text =
                format!("v1 ConfigMap: object cannot be decoded: object {key} is not in namespace default");
            reports.contains(&text)
        };
        assert!(reported("kube-system/b") && reported("kube-system/c"), "{reports:?}");
    }
}
