//! Conversion webhooks: custom resources in versions other than the one in which they are stored.

use crate::probe::{Probe, names, refusal};
use http::Method;
use kube_devserver::DevServer;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V1: &str = "/apis/example.com/v1/namespaces/default/crontabs";
/// The time limit of a test that waits for events.
const LIMIT: Duration = Duration::from_secs(30);

const V2: &str = "/apis/example.com/v2/namespaces/default/crontabs";

/// Cron tabs with `spec.hostPort` in v1, and with `spec.host` and `spec.port` in v2, which is stored.
fn definition() -> Value {
    let version = |name: &str, fields: Value, is_stored: bool| {
        let spec = json!({ "type": "object", "properties": fields });
        let status = json!({ "type": "object", "properties": { "ready": { "type": "boolean" } } });
        json!({
            "name": name, "served": true, "storage": is_stored, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } },
        })
    };
    let text = json!({ "type": "string" });
    json!({
        "metadata": { "name": "crontabs.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "crontabs", "kind": "CronTab" },
            "versions": [
                version("v1", json!({ "hostPort": text }), false),
                version("v2", json!({ "host": text, "port": text }), true),
            ],
            "conversion": { "strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": { "service": { "namespace": "ops", "name": "convert", "path": "/convert" } },
            } },
        },
    })
}

fn convert(object: &Value, version: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = version.into();
    let text = |object: &Value, field: &str| object["spec"][field].as_str().unwrap_or_default().to_owned();
    object["spec"] = match version {
        "example.com/v1" => {
            json!({ "hostPort": format!("{}:{}", text(&object, "host"), text(&object, "port")) })
        }
        _ => {
            let both = text(&object, "hostPort");
            let (host, port) = both.split_once(':').unwrap_or((&both, ""));
            json!({ "host": host, "port": port })
        }
    };
    object["metadata"]["annotations"]["converted-to"] = version.into();
    object
}

fn response(review: &Value) -> Value {
    let request = &review["request"];
    let version = request["desiredAPIVersion"].as_str().unwrap();
    let converted: Vec<_> =
        request["objects"].as_array().unwrap().iter().map(|one| convert(one, version)).collect();
    let response =
        json!({ "uid": request["uid"], "result": { "status": "Success" }, "convertedObjects": converted });
    json!({ "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response })
}

/// Starts a server with the definition and a webhook that changes its responses.
async fn with_webhook(
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> (Probe, Arc<Mutex<Vec<Value>>>) {
    let server = DevServer::start();
    let reviews = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&reviews);
    server.serve_webhook("ops", "convert", "/convert", move |review: Value| {
        let mut response = response(&review);
        change(&mut response);
        received.lock().unwrap().push(review);
        async move { response }
    });
    let probe = Probe::of(server);
    probe.make(DEFINITIONS, definition()).await;
    (probe, reviews)
}

fn tab(name: &str, spec: Value) -> Value {
    let mut tab = json!({ "apiVersion": "example.com/v1", "kind": "CronTab", "metadata": { "name": name } });
    tab["spec"] = spec;
    tab
}

#[tokio::test]
async fn objects_are_converted_from_and_to_the_stored_version() {
    let (probe, reviews) = with_webhook(|_| {}).await;
    let made = probe.make(V1, tab("a", json!({ "hostPort": "localhost:80" }))).await;
    assert_eq!(
        (&made["apiVersion"], &made["spec"]),
        (&json!("example.com/v1"), &json!({ "hostPort": "localhost:80" }))
    );
    let [write, read] = std::mem::take(&mut *reviews.lock().unwrap()).try_into().unwrap();
    assert_eq!(write["kind"], "ConversionReview");
    assert_eq!(write["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(write["request"]["desiredAPIVersion"], "example.com/v2");
    assert_eq!(write["request"]["objects"][0]["apiVersion"], "example.com/v1");
    assert_eq!(write["request"]["objects"][0]["metadata"]["name"], "a");
    assert_eq!(read["request"]["desiredAPIVersion"], "example.com/v1");

    // The version in which it is stored needs no conversion.
    let stored = probe.get(&format!("{V2}/a")).await.1;
    assert_eq!(stored["spec"], json!({ "host": "localhost", "port": "80" }));
    assert_eq!(stored["metadata"]["uid"], made["metadata"]["uid"]);
    assert!(reviews.lock().unwrap().is_empty());

    probe.make(V2, json!({ "metadata": { "name": "b" }, "spec": { "host": "h", "port": "1" } })).await;
    let list = probe.get(V1).await.1;
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(list["items"][1]["spec"], json!({ "hostPort": "h:1" }));
    assert_eq!(list["items"][1]["apiVersion"], "example.com/v1");
    let objects = reviews.lock().unwrap()[0]["request"]["objects"].as_array().unwrap().len();
    assert_eq!((reviews.lock().unwrap().len(), objects), (1, 2), "a list is converted at once");
    assert_eq!(probe.get(&format!("{V1}/b")).await.1["spec"], json!({ "hostPort": "h:1" }));
}

#[tokio::test]
async fn all_ways_of_writing_convert() {
    let (probe, _) = with_webhook(|_| {}).await;
    let path = format!("{V1}/a");
    let stored = async || probe.get(&format!("{V2}/a")).await.1;
    let made = probe.make(V1, tab("a", json!({ "hostPort": "h:1" }))).await;

    let mut next = made.clone();
    next["spec"]["hostPort"] = "h:2".into();
    let (code, updated) = probe.put(&path, next).await;
    assert_eq!((code, &updated["spec"]["hostPort"]), (200, &json!("h:2")), "{updated}");
    assert_eq!(stored().await["spec"], json!({ "host": "h", "port": "2" }));
    assert_eq!(updated["metadata"]["generation"], 2);

    let (code, patched) = probe.patch(&path, json!({ "spec": { "hostPort": "h:3" } })).await;
    assert_eq!((code, &patched["spec"]["hostPort"]), (200, &json!("h:3")), "{patched}");
    assert_eq!(stored().await["spec"], json!({ "host": "h", "port": "3" }));

    let (code, status) = probe.patch(&format!("{path}/status"), json!({ "status": { "ready": true } })).await;
    assert_eq!(
        (code, &status["status"]["ready"], &status["spec"]["hostPort"]),
        (200, &json!(true), &json!("h:3"))
    );
    assert_eq!(stored().await["status"]["ready"], true);

    let apply = format!("{path}?fieldManager=me&force=true");
    let config = tab("a", json!({ "hostPort": "h:4" }));
    let (code, applied) =
        probe.ask_as("application/apply-patch+yaml", Method::PATCH, &apply, Some(&config)).await;
    assert_eq!((code, &applied["spec"]["hostPort"]), (200, &json!("h:4")), "{applied}");
    let stored = stored().await;
    assert_eq!(stored["spec"], json!({ "host": "h", "port": "4" }));
    let managers = stored["metadata"]["managedFields"].as_array().unwrap();
    let own = managers.iter().find(|entry| entry["manager"] == "me").unwrap();
    assert_eq!(own["apiVersion"], "example.com/v1");
    assert_eq!(own["fieldsV1"], json!({ "f:spec": { "f:hostPort": {} } }));

    assert_eq!(probe.delete(&path).await.0, 200);
    assert_eq!(probe.get(&path).await.0, 404);
}

#[tokio::test]
async fn a_webhook_changes_no_metadata_but_labels_and_annotations() {
    let (probe, _) = with_webhook(|response| {
        let object = &mut response["response"]["convertedObjects"][0];
        object["metadata"]["labels"] = json!({ "converted": "yes" });
        object["metadata"]["finalizers"] = json!(["example.com/added"]);
    })
    .await;
    let made = probe.make(V1, tab("a", json!({}))).await;
    assert_eq!(made["metadata"]["labels"], json!({ "converted": "yes" }));
    assert_eq!(made["metadata"]["annotations"], json!({ "converted-to": "example.com/v1" }));
    assert_eq!(made["metadata"].get("finalizers"), None);
}

#[tokio::test]
async fn a_conversion_that_fails_is_an_error() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 8] = [
        (
            |response| {
                response["response"]["result"] = json!({ "status": "Failure", "message": "no such port" })
            },
            "failed: no such port",
        ),
        (
            |response| response["response"]["result"] = json!({ "status": "Failure" }),
            "failed: response.result.status was 'Failure', not 'Success'",
        ),
        (|response| response["response"]["uid"] = "x".into(), "failed: expected response.uid="),
        (
            |response| response["kind"] = "Pod".into(),
            "failed: expected webhook response of apiextensions.k8s.io/v1",
        ),
        (|response| response["response"] = Value::Null, "failed: no response provided"),
        (|response| response["response"]["convertedObjects"] = json!([]), "returned 0 objects, expected 1"),
        (
            |response| response["response"]["convertedObjects"][0]["apiVersion"] = "example.com/v3".into(),
            "invalid groupVersion (expected example.com/v2, received example.com/v3)",
        ),
        (
            |response| response["response"]["convertedObjects"][0]["metadata"]["name"] = "b".into(),
            "must have the same name: a != b",
        ),
    ];
    for (change, expected) in cases {
        let (probe, _) = with_webhook(change).await;
        let answer = probe.post(V1, tab("a", json!({ "hostPort": "h:1" }))).await;
        assert_eq!(refusal(&answer), (500, ""));
        let message = answer.1["message"].as_str().unwrap();
        assert!(message.starts_with("conversion webhook for example.com/v1, Kind=CronTab "), "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(probe.get(V2).await.1["items"], json!([]), "nothing is stored");
        // The stored version does not depend on the webhook.
        probe.make(V2, json!({ "metadata": { "name": "a" } })).await;
        assert_eq!(probe.get(&format!("{V2}/a")).await.0, 200);
        assert_eq!(refusal(&probe.get(&format!("{V1}/a")).await).0, 500);
        assert_eq!(refusal(&probe.get(V1).await).0, 500);
    }
}

#[tokio::test]
async fn events_are_converted_to_the_version_of_the_watch() {
    let (probe, reviews) = with_webhook(|_| {}).await;
    probe.make(V2, json!({ "metadata": { "name": "a" }, "spec": { "host": "h", "port": "1" } })).await;
    let watching = async {
        let mut watch = probe.watch(&format!("{V1}?watch=true")).await;
        let mut stored = probe.watch(&format!("{V2}?watch=true&resourceVersion=1")).await;
        let mut next = async || {
            let (kind, object) = watch.event().await;
            assert_eq!(object["apiVersion"], "example.com/v1");
            (kind, object["metadata"]["name"].clone(), object["spec"]["hostPort"].clone())
        };
        assert_eq!(next().await, ("ADDED".to_owned(), json!("a"), json!("h:1")));
        let made = probe.make(V1, tab("b", json!({ "hostPort": "h:2" }))).await;
        assert_eq!(next().await, ("ADDED".to_owned(), json!("b"), json!("h:2")));
        probe.patch(&format!("{V2}/a"), json!({ "spec": { "port": "3" } })).await;
        assert_eq!(next().await, ("MODIFIED".to_owned(), json!("a"), json!("h:3")));
        probe.delete(&format!("{V2}/b")).await;
        assert_eq!(next().await, ("DELETED".to_owned(), json!("b"), json!("h:2")));

        // A watch of the stored version calls no webhook.
        reviews.lock().unwrap().clear();
        let (_, object) = stored.event().await;
        assert_eq!(object["spec"], json!({ "host": "h", "port": "1" }));
        let (_, object) = stored.event().await;
        assert_eq!(object["spec"], json!({ "host": "h", "port": "2" }));
        assert!(reviews.lock().unwrap().is_empty());

        // A watch from a version begins with the change after it.
        let version = made["metadata"]["resourceVersion"].as_str().unwrap();
        let path = format!("{V1}?watch=true&resourceVersion={version}");
        let (kind, object) = probe.watch(&path).await.event().await;
        assert_eq!((kind.as_str(), &object["spec"]), ("MODIFIED", &json!({ "hostPort": "h:3" })));
    };
    tokio::time::timeout(LIMIT, watching).await.expect("the events arrive");
}

#[tokio::test]
async fn a_watch_ends_if_its_events_cannot_be_converted() {
    let is_broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let breaks = Arc::clone(&is_broken);
    let (probe, _) = with_webhook(move |response| {
        if breaks.load(std::sync::atomic::Ordering::Relaxed) {
            response["response"]["result"] = json!({ "status": "Failure", "message": "no such port" });
        }
    })
    .await;
    let watching = async {
        let mut watch = probe.watch(&format!("{V1}?watch=true")).await;
        is_broken.store(true, std::sync::atomic::Ordering::Relaxed);
        probe.make(V2, json!({ "metadata": { "name": "a" } })).await;
        let (kind, status) = watch.event().await;
        assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(500)), "{status}");
        assert!(status["message"].as_str().unwrap().ends_with("failed: no such port"), "{status}");
        // So does one whose initial objects cannot be converted.
        let (kind, _) = probe.watch(&format!("{V1}?watch=true")).await.event().await;
        assert_eq!(kind, "ERROR");
    };
    tokio::time::timeout(LIMIT, watching).await.expect("the error arrives");
}

#[tokio::test]
async fn invalid_conversions_are_refused() {
    let service = json!({ "service": { "namespace": "ops", "name": "convert" } });
    for (conversion, field) in [
        (json!({ "strategy": "Webhook" }), "spec.conversion.webhookClientConfig"),
        (
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": {} } }),
            "spec.conversion.webhookClientConfig",
        ),
        (
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": [], "clientConfig": service } }),
            "spec.conversion.conversionReviewVersions",
        ),
        (
            json!({ "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v9"], "clientConfig": service } }),
            "spec.conversion.conversionReviewVersions",
        ),
        (
            json!({ "strategy": "None", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": service } }),
            "spec.conversion.webhookClientConfig",
        ),
        (json!({ "strategy": "Magic" }), "spec.conversion.strategy"),
    ] {
        let mut definition = definition();
        definition["spec"]["conversion"] = conversion.clone();
        let answer = Probe::new().post(DEFINITIONS, definition).await;
        assert_eq!(refusal(&answer), (422, "Invalid"), "{conversion}");
        assert_eq!(answer.1["details"]["causes"][0]["field"], field, "{answer:?}");
    }
}

/// Configures a mutating webhook for v1, which marks the port of an object, and returns what it receives.
async fn port_webhook(probe: &Probe, policy: &str) -> Arc<Mutex<Vec<Value>>> {
    let reviews = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&reviews);
    probe.server.serve_webhook("ops", "port", "/mutate", move |review: Value| {
        received.lock().unwrap().push(review["request"].clone());
        let operations = json!([{ "op": "add", "path": "/spec/hostPort", "value": "marked:7" }]);
        let patch = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, operations.to_string());
        let response = json!({
            "uid": review["request"]["uid"], "allowed": true, "patchType": "JSONPatch", "patch": patch,
        });
        async move {
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
        }
    });
    let rule = json!({
        "operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["crontabs"],
    });
    let webhook = json!({
        "name": "port.hooks.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": { "service": { "namespace": "ops", "name": "port", "path": "/mutate" } },
        "rules": [rule], "matchPolicy": policy,
    });
    let configuration = json!({ "metadata": { "name": "port" }, "webhooks": [webhook] });
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    probe.make(path, configuration).await;
    reviews
}

#[tokio::test]
async fn a_webhook_for_another_version_receives_converted_objects() {
    let (probe, _) = with_webhook(|_| {}).await;
    let reviews = port_webhook(&probe, "Equivalent").await;
    let made =
        probe.make(V2, json!({ "metadata": { "name": "a" }, "spec": { "host": "h", "port": "1" } })).await;
    // Its patch of the object in v1 is converted, too.
    assert_eq!(
        (&made["apiVersion"], &made["spec"]),
        (&json!("example.com/v2"), &json!({ "host": "marked", "port": "7" }))
    );
    let request = reviews.lock().unwrap().remove(0);
    assert_eq!((&request["kind"]["version"], &request["resource"]["version"]), (&json!("v1"), &json!("v1")));
    assert_eq!(
        (&request["requestKind"]["version"], &request["requestResource"]["version"]),
        (&json!("v2"), &json!("v2"))
    );
    assert_eq!(request["object"]["apiVersion"], "example.com/v1");
    assert_eq!(request["object"]["spec"], json!({ "hostPort": "h:1" }));
    // A request for the version in the rule is not converted.
    probe.make(V1, tab("b", json!({ "hostPort": "h:2" }))).await;
    let request = reviews.lock().unwrap().remove(0);
    assert_eq!(
        (&request["requestKind"]["version"], &request["object"]["spec"]),
        (&json!("v1"), &json!({ "hostPort": "h:2" }))
    );
}

#[tokio::test]
async fn a_webhook_that_matches_exactly_is_called_for_its_version_only() {
    let (probe, _) = with_webhook(|_| {}).await;
    let reviews = port_webhook(&probe, "Exact").await;
    let made =
        probe.make(V2, json!({ "metadata": { "name": "a" }, "spec": { "host": "h", "port": "1" } })).await;
    assert_eq!(made["spec"], json!({ "host": "h", "port": "1" }));
    assert!(reviews.lock().unwrap().is_empty());
    let made = probe.make(V1, tab("b", json!({ "hostPort": "h:2" }))).await;
    assert_eq!(made["spec"], json!({ "hostPort": "marked:7" }));
}
