//! Writes that a server rejects or changes.

use crate::maps::{Maps, ask};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_conformance::{Server, claims};
use kube_informer::{Informer, source::Encoding};
use serde_json::{Value, json};

claims! {
    shared: [
        invalid_objects_are_refused,
        invalid_options_are_refused,
        patches_that_name_no_version_do_not_conflict,
        an_update_creates_a_lease_and_needs_a_version,
        a_namespace_stays_until_it_is_empty_and_is_marked_once,
        immutable_fields_cannot_change,
        invalid_utf8_is_accepted_and_equal_in_both_encodings,
    ],
    alone: [],
}

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";

fn path(maps: &Maps<ConfigMap>, rest: &str) -> String {
    format!("/api/v1/namespaces/{}/{rest}", maps.namespace)
}

/// Returns the status code of a response; 200 for an object.
fn code(answer: &Value) -> u64 {
    match &answer["kind"] {
        Value::String(kind) if kind == "Status" && answer["status"] != "Success" => {
            answer["code"].as_u64().unwrap()
        }
        // An error of the client has no kind.
        Value::Null => answer["code"].as_u64().unwrap(),
        _ => 200,
    }
}

async fn invalid_objects_are_refused(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let with = |field: &str, value: Value| json!({ "metadata": { "name": "b", field: value } });
    let owner =
        |uid: &str| json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true });
    let sent = [
        (with("labels", json!({ "a": 1 })), 400),
        (with("labels", json!({ "a": "b c" })), 422),
        (with("labels", json!({ "a b": "c" })), 422),
        (with("labels", json!({ "A_/b": "c" })), 422),
        (with("labels", json!({ "a": "b".repeat(64) })), 422),
        (with("annotations", json!({ "a b": "c" })), 422),
        (with("annotations", json!({ "a": "b".repeat(256 << 10) })), 422),
        (with("finalizers", json!(["bare"])), 422),
        (with("finalizers", json!(["a b/c"])), 422),
        (with("ownerReferences", json!([owner("")])), 422),
        (with("ownerReferences", json!([owner("1"), owner("2")])), 422),
        (json!({ "metadata": { "name": "b" }, "data": { "a": 1 } }), 400),
    ];
    for (body, expected) in sent {
        let answer = ask(&maps.client, Request::post(path(&maps, "configmaps")), body.clone()).await;
        assert_eq!(code(&answer), expected, "{body}: {answer}");
    }
    let secret = json!({ "metadata": { "name": "b" }, "data": { "a": "%%" } });
    assert_eq!(code(&ask(&maps.client, Request::post(path(&maps, "secrets")), secret).await), 400);
    let patches = [
        (MERGE, json!({ "metadata": { "labels": { "a": 1 } } }), 422),
        (STRATEGIC, json!({ "metadata": { "labels": { "a": 1 } } }), 422),
        (MERGE, json!({ "metadata": { "labels": { "a": "b c" } } }), 422),
        (MERGE, json!({ "metadata": { "namespace": "other" } }), 400),
        (MERGE, json!({ "metadata": { "name": "other" } }), 400),
        (MERGE, json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1" }), 422),
        (MERGE, json!({ "apiVersion": "v2" }), 422),
        (OPERATIONS, json!([{ "op": "replace", "path": "/kind", "value": "Pod" }]), 422),
        (STRATEGIC, json!({ "kind": "Pod" }), 200),
    ];
    for (kind, body, expected) in patches {
        let patch = Request::patch(path(&maps, "configmaps/a")).header("content-type", kind);
        let answer = ask(&maps.client, patch, body.clone()).await;
        assert_eq!(code(&answer), expected, "{kind} {body}: {answer}");
    }
    let revision =
        json!({ "metadata": { "name": "a" }, "revision": 1, "data": { "a": "b".repeat(17 * 100_000) } });
    let revisions = format!("/apis/apps/v1/namespaces/{}/controllerrevisions", maps.namespace);
    assert_eq!(code(&ask(&maps.client, Request::post(revisions), revision).await), 500);
}

async fn invalid_options_are_refused(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let named = json!({ "metadata": { "name": "a" } });
    let one = |query: &str| path(&maps, &format!("configmaps/a{query}"));
    let cases = [
        (Request::post(path(&maps, "configmaps?dryRun=some")), named.clone()),
        (Request::put(one("?dryRun=some")), named),
        (Request::patch(one("?dryRun=some")).header("content-type", MERGE), json!({})),
        (Request::delete(one("?dryRun=some")), Value::Null),
        (Request::delete(one("")), json!({ "dryRun": ["some"] })),
        (Request::delete(one("?propagationPolicy=some")), Value::Null),
        (Request::delete(one("")), json!({ "propagationPolicy": "some" })),
    ];
    for (request, body) in cases {
        let case = format!("{request:?} {body}");
        let answer = ask(&maps.client, request, body).await;
        assert_eq!((code(&answer), &answer["reason"]), (422, &json!("Invalid")), "{case}: {answer}");
    }
    assert!(maps.api.get_opt("a").await.unwrap().is_some());
}

async fn patches_that_name_no_version_do_not_conflict(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    for round in 0..8 {
        let patch = |number: usize| {
            let request = Request::patch(path(&maps, "configmaps/a")).header("content-type", MERGE);
            let client = maps.client.clone();
            let body = json!({ "data": { format!("k{number}"): round.to_string() } });
            tokio::spawn(async move { ask(&client, request, body).await })
        };
        let all: Vec<_> = (0..4).map(patch).collect();
        for answer in all {
            let answer = answer.await.unwrap();
            assert_eq!(answer["kind"], "ConfigMap", "{answer}");
        }
    }
    let data = maps.api.get("a").await.unwrap().data.unwrap();
    assert_eq!(data.into_values().collect::<Vec<_>>(), ["7"; 4]);
}

async fn an_update_creates_a_lease_and_needs_a_version(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", maps.namespace);
    let put = |path: String, body: Value| ask(&maps.client, Request::put(path), body);
    let lease = json!({ "metadata": { "name": "a" }, "spec": { "holderIdentity": "me" } });
    let made = put(format!("{leases}/a"), lease.clone()).await;
    assert_eq!((&made["kind"], &made["spec"]["holderIdentity"]), (&json!("Lease"), &json!("me")));
    let refused = put(format!("{leases}/a"), lease.clone()).await;
    assert_eq!((code(&refused), &refused["reason"]), (422, &json!("Invalid")), "{refused}");
    let mut next = made.clone();
    next["spec"]["holderIdentity"] = "you".into();
    assert_eq!(put(format!("{leases}/a"), next).await["spec"]["holderIdentity"], "you");
    assert_eq!(code(&put(format!("{leases}/a"), made).await), 409);
    let missing = put(path(&maps, "configmaps/missing"), json!({ "metadata": { "name": "missing" } })).await;
    assert_eq!(code(&missing), 404);
    let map = json!({ "metadata": { "name": "kube-root" } });
    maps.create("kube-root").await;
    assert_eq!(put(path(&maps, "configmaps/kube-root"), map).await["kind"], "ConfigMap");
}

async fn a_namespace_stays_until_it_is_empty_and_is_marked_once(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create_with("held", json!({ "finalizers": ["example.com/hold"] })).await;
    let namespace = format!("/api/v1/namespaces/{}", maps.namespace);
    let deleted = ask(&maps.client, Request::delete(&namespace), Value::Null).await;
    assert_eq!(deleted["status"]["phase"], "Terminating", "{deleted}");
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    let again = ask(&maps.client, Request::delete(&namespace), Value::Null).await;
    assert_eq!((&again["kind"], version(&again)), (&json!("Namespace"), version(&deleted)));
    let patch = Request::patch(&namespace).header("content-type", MERGE);
    let labelled = ask(&maps.client, patch, json!({ "metadata": { "labels": { "a": "b" } } })).await;
    assert_eq!(labelled["metadata"]["labels"]["a"], "b", "{labelled}");
    let found = ask(&maps.client, Request::get(&namespace), Value::Null).await;
    assert_eq!(found["status"]["phase"], "Terminating", "what is in it is held: {found}");
    maps.api.get("held").await.unwrap();
}

async fn immutable_fields_cannot_change(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = |labels: Value| json!({ "selector": { "matchLabels": labels }, "serviceName": "s", "template": template });
    let named = |fields: Value| {
        let mut object = fields;
        object["metadata"] = json!({ "name": "fixed" });
        object
    };
    let both = json!({ "a": "b" });
    let apps = format!("/apis/apps/v1/namespaces/{}", maps.namespace);
    let table = [
        (format!("{apps}/deployments"), json!({ "spec": { "selector": { "matchLabels": { "c": "d" } } } })),
        (format!("{apps}/replicasets"), json!({ "spec": { "selector": { "matchLabels": { "c": "d" } } } })),
        (format!("{apps}/statefulsets"), json!({ "spec": { "serviceName": "t" } })),
        (path(&maps, "secrets"), json!({ "type": "example.com/a" })),
        (path(&maps, "configmaps"), json!({ "data": { "x": "2" } })),
        (path(&maps, "configmaps"), json!({ "immutable": false })),
    ];
    for (folder, patch) in table {
        let object = match folder.starts_with(&apps) {
            true => named(json!({ "spec": spec(both.clone()) })),
            false if folder.ends_with("secrets") => named(json!({})),
            false => named(json!({ "immutable": true, "data": { "x": "1" } })),
        };
        ask(&maps.client, Request::post(&folder), object).await;
        let request = Request::patch(format!("{folder}/fixed")).header("content-type", MERGE);
        let refused = ask(&maps.client, request, patch.clone()).await;
        assert_eq!(code(&refused), 422, "{folder} {patch}: {refused}");
    }
}

/// A field of a protobuf message with few bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

async fn invalid_utf8_is_accepted_and_equal_in_both_encodings(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let metadata = field(1, &field(1, b"odd"));
    let entry = [field(1, b"a"), field(2, b"\xff\xe2\x82!")].concat();
    let types = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    let body = [&b"k8s\0"[..], &field(1, &types), &field(2, &[metadata, field(2, &entry)].concat())].concat();
    let post = Request::post(path(&maps, "configmaps"));
    let post = post.header("content-type", "application/vnd.kubernetes.protobuf").body(body).unwrap();
    let made: Value = maps.client.request(post).await.unwrap();
    let expected = "\u{fffd}\u{fffd}\u{fffd}!";
    assert_eq!(made["data"]["a"], expected, "{made}");
    for encoding in [Encoding::Json, Encoding::Protobuf] {
        let informer = Informer::from_source(maps.source().encoding(encoding)).start().unwrap();
        informer.synced().await.unwrap();
        let odd = informer.get((maps.namespace.as_str(), "odd")).unwrap();
        assert_eq!(odd.data.as_ref().unwrap()["a"], expected, "{encoding:?}");
        informer.stop();
        informer.stopped().await;
    }
}
