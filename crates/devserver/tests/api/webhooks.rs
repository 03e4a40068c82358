//! Admission webhooks: when they are called, their requests, and the effects of their responses.

use crate::probe::{MAPS, Probe, named, refusal};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube_devserver::DevServer;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// The reviews that a webhook has received.
type Reviews = Arc<Mutex<Vec<Value>>>;

/// Returns the response to a review, with these fields.
fn response(review: &Value, mut fields: Value) -> Value {
    let mut response = json!({ "uid": review["request"]["uid"], "allowed": true });
    response.as_object_mut().unwrap().append(fields.as_object_mut().unwrap());
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

fn denial(message: &str) -> Value {
    json!({ "allowed": false, "status": { "message": message } })
}

fn patch(operations: &Value) -> Value {
    json!({ "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string()) })
}

/// Starts a webhook at a path of the service `hook` that responds with these fields, and returns what it receives.
fn serve(server: &DevServer, path: &str, fields: Value) -> Reviews {
    let reviews = Reviews::default();
    let received = Arc::clone(&reviews);
    server.serve_webhook("ops", "hook", path, move |review: Value| {
        received.lock().unwrap().push(review.clone());
        let fields = fields.clone();
        async move { response(&review, fields) }
    });
    reviews
}

/// A webhook at a path of the service `hook`, which is called for changes of configmaps.
fn webhook(path: &str, mut extra: Value) -> Value {
    let mut webhook = json!({
        "name": format!("{path}.hooks.example.com"),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": { "service": { "namespace": "ops", "name": "hook", "path": path } },
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
    });
    webhook.as_object_mut().unwrap().append(extra.as_object_mut().unwrap());
    webhook
}

async fn configure(probe: &Probe, stage: &str, webhooks: &[Value]) {
    let path = format!("{CONFIGURATIONS}/{stage}webhookconfigurations");
    probe.make(&path, json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks })).await;
}

fn requests(reviews: &Reviews) -> Vec<Value> {
    std::mem::take(&mut *reviews.lock().unwrap())
        .into_iter()
        .map(|mut review| review["request"].take())
        .collect()
}

fn message(answer: &(u16, Value)) -> &str {
    answer.1["message"].as_str().unwrap()
}

#[tokio::test]
async fn a_mutating_webhook_changes_objects() {
    let probe = Probe::new();
    let label = patch(&json!([{ "op": "add", "path": "/metadata/labels", "value": { "team": "web" } }]));
    let reviews = serve(&probe.server, "label", label);
    configure(&probe, "mutating", &[webhook("label", json!({}))]).await;

    let made = probe.make(MAPS, named("a")).await;
    assert_eq!(made["metadata"]["labels"]["team"], "web");
    let stored = probe.get(&format!("{MAPS}/a")).await.1;
    assert_eq!(stored["metadata"]["labels"]["team"], "web");
    // The client does not own the fields that the webhook has set.
    assert!(!stored["metadata"]["managedFields"].to_string().contains("team"), "{stored}");

    let [created] = requests(&reviews).try_into().unwrap();
    assert_eq!(created["operation"], "CREATE");
    assert_eq!(created["kind"], json!({ "group": "", "version": "v1", "kind": "ConfigMap" }));
    assert_eq!(created["resource"], json!({ "group": "", "version": "v1", "resource": "configmaps" }));
    assert_eq!((&created["name"], &created["namespace"]), (&json!("a"), &json!("default")));
    assert_eq!((&created["dryRun"], &created["oldObject"]), (&json!(false), &Value::Null));
    assert_eq!(created["object"]["kind"], "ConfigMap");
    assert_eq!(created["object"]["metadata"]["namespace"], "default");
    assert_eq!(created["object"]["metadata"].get("uid"), None, "the server has not completed the object");
    assert_eq!(created["options"]["kind"], "CreateOptions");
    assert_eq!(created["userInfo"]["username"], "system:admin");

    let patched = probe.patch(&format!("{MAPS}/a"), json!({ "data": { "k": "v" } })).await;
    assert_eq!(patched.0, 200, "{patched:?}");
    let [updated] = requests(&reviews).try_into().unwrap();
    assert_eq!(
        (&updated["operation"], &updated["options"]["kind"]),
        (&json!("UPDATE"), &json!("UpdateOptions"))
    );
    assert_eq!((&updated["object"]["data"]["k"], updated["oldObject"].get("data")), (&json!("v"), None));
}

#[tokio::test]
async fn a_validating_webhook_denies_requests() {
    let probe = Probe::new();
    probe.make_maps(["a", "b"]).await;
    let reviews = serve(&probe.server, "deny", denial("not on Fridays"));
    configure(&probe, "validating", &[webhook("deny", json!({}))]).await;
    let text = r#"admission webhook "deny.hooks.example.com" denied the request: not on Fridays"#;
    let map = format!("{MAPS}/a");
    for answer in [
        probe.post(MAPS, named("c")).await,
        probe.put(&map, named("a")).await,
        probe.patch(&map, json!({ "data": { "k": "v" } })).await,
        probe.delete(&map).await,
        probe.delete(MAPS).await,
    ] {
        assert_eq!((refusal(&answer), message(&answer)), ((400, ""), text));
    }
    let operations: Vec<_> = requests(&reviews).iter().map(|request| request["operation"].clone()).collect();
    assert_eq!(operations, ["CREATE", "UPDATE", "UPDATE", "DELETE", "DELETE"]);
    assert_eq!(probe.get(MAPS).await.1["items"].as_array().unwrap().len(), 2, "nothing changed");
}

#[tokio::test]
async fn the_status_of_a_denial_is_the_response() {
    for (fields, code, reason, text) in [
        (json!({ "allowed": false }), 400, "", "without explanation"),
        (json!({ "allowed": false, "status": { "reason": "Why" } }), 400, "Why", ": Why"),
        (
            json!({ "allowed": false, "status": { "code": 403, "reason": "Forbidden", "message": "no" } }),
            403,
            "Forbidden",
            ": no",
        ),
        (json!({ "allowed": false, "status": { "code": 200, "message": "no" } }), 400, "", ": no"),
    ] {
        let probe = Probe::new();
        serve(&probe.server, "deny", fields);
        configure(&probe, "validating", &[webhook("deny", json!({}))]).await;
        let answer = probe.post(MAPS, named("a")).await;
        assert_eq!(refusal(&answer), (code, reason));
        assert!(message(&answer).ends_with(text), "{answer:?}");
    }
}

#[tokio::test]
async fn a_webhook_that_cannot_be_called_fails_the_request_or_is_ignored() {
    let probe = Probe::new();
    serve(&probe.server, "other", json!({}));
    configure(&probe, "validating", &[webhook("missing", json!({}))]).await;
    let answer = probe.post(MAPS, named("a")).await;
    assert_eq!(refusal(&answer), (500, "InternalError"));
    assert_eq!(
        message(&answer),
        "Internal error occurred: failed calling webhook \"missing.hooks.example.com\": failed to call webhook: \
         Post \"https://hook.ops.svc:443/missing?timeout=10s\": the service \"hook\" has a webhook at \"/other\" only"
    );
    let path = format!("{CONFIGURATIONS}/validatingwebhookconfigurations/hooks");
    let ignored = json!({ "webhooks": [webhook("missing", json!({ "failurePolicy": "Ignore" }))] });
    assert_eq!(probe.patch(&path, ignored).await.0, 200);
    probe.make(MAPS, named("a")).await;
}

#[tokio::test(start_paused = true)]
async fn invalid_responses_panics_and_timeouts_fail_the_request() {
    type Respond = fn(Value) -> Value;
    let cases: [(&str, Respond, &str); 6] = [
        (
            "uid",
            |mut review| {
                review["request"]["uid"] = "x".into();
                response(&review, json!({}))
            },
            "expected response.uid=",
        ),
        (
            "kind",
            |_| json!({ "kind": "Pod", "apiVersion": "v1" }),
            "expected webhook response of admission.k8s.io/v1",
        ),
        (
            "absent",
            |_| json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1" }),
            "response was absent",
        ),
        ("panic", |_| panic!("a bug"), "the webhook panicked"),
        ("type", |review| response(&review, json!({ "patch": "W10=" })), "but not response.patchType"),
        (
            "patch",
            |review| response(&review, patch(&json!([{ "op": "remove", "path": "/nothing" }]))),
            "Internal error occurred",
        ),
    ];
    for (name, respond, expected) in cases {
        let probe = Probe::new();
        let server = &probe.server;
        server.serve_webhook("ops", "hook", name, move |review: Value| async move { respond(review) });
        configure(&probe, "mutating", &[webhook(name, json!({}))]).await;
        let answer = probe.post(MAPS, named("a")).await;
        assert_eq!(refusal(&answer), (500, "InternalError"), "{name}");
        assert!(message(&answer).contains(expected), "{answer:?}");
    }
    let probe = Probe::new();
    probe.server.serve_webhook("ops", "hook", "slow", |review: Value| async move {
        tokio::time::sleep(Duration::from_secs(6)).await;
        response(&review, json!({}))
    });
    configure(&probe, "validating", &[webhook("slow", json!({ "timeoutSeconds": 5 }))]).await;
    let answer = probe.post(MAPS, named("a")).await;
    assert!(message(&answer).contains("slow?timeout=5s\": context deadline exceeded"), "{answer:?}");
}

#[tokio::test]
async fn rules_and_selectors_select_the_requests() {
    let rule = |fields: Value| {
        let mut rule =
            json!({ "operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] });
        rule.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "rules": [rule] })
    };
    let only = |selector: &str| json!({ selector: { "matchLabels": { "hooks": "on" } } });
    for (fields, called) in [
        (rule(json!({})), true),
        (rule(json!({ "operations": ["UPDATE"] })), false),
        (rule(json!({ "apiGroups": ["apps"] })), false),
        (rule(json!({ "apiVersions": ["v1beta1"] })), false),
        (rule(json!({ "resources": ["pods"] })), false),
        (rule(json!({ "resources": ["configmaps/status"] })), false),
        (rule(json!({ "scope": "Cluster" })), false),
        (rule(json!({ "scope": "Namespaced" })), true),
        (json!({ "rules": [] }), false),
        (only("objectSelector"), false),
        (only("namespaceSelector"), false),
        (
            json!({ "namespaceSelector": { "matchExpressions": [{ "key": "hooks", "operator": "DoesNotExist" }] } }),
            true,
        ),
    ] {
        let probe = Probe::new();
        let reviews = serve(&probe.server, "seen", json!({}));
        configure(&probe, "validating", &[webhook("seen", fields.clone())]).await;
        probe.make(MAPS, named("a")).await;
        assert_eq!(!requests(&reviews).is_empty(), called, "{fields}");
    }
    let probe = Probe::new();
    let reviews = serve(&probe.server, "seen", json!({}));
    let both = [only("objectSelector"), only("namespaceSelector")].map(|fields| webhook("seen", fields));
    configure(&probe, "validating", &[both[0].clone()]).await;
    let labels = json!({ "hooks": "on" });
    let on = json!({ "metadata": { "name": "a", "labels": labels } });
    probe.make(MAPS, on.clone()).await;
    assert_eq!(requests(&reviews).len(), 1);
    // The old labels count too.
    probe.patch(&format!("{MAPS}/a"), json!({ "metadata": { "labels": null } })).await;
    assert_eq!(requests(&reviews).len(), 1);
    let path = format!("{CONFIGURATIONS}/validatingwebhookconfigurations/hooks");
    probe.patch(&path, json!({ "webhooks": [both[1]] })).await;
    probe.make("/api/v1/namespaces", json!({ "metadata": { "name": "on", "labels": labels } })).await;
    probe.make("/api/v1/namespaces/on/configmaps", named("a")).await;
    assert_eq!(requests(&reviews).len(), 1);
}

#[tokio::test]
async fn subresources_and_dry_runs_are_reviewed() {
    let probe = Probe::new();
    let container = json!([{ "name": "c", "image": "i" }]);
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": container } });
    let spec = json!({ "replicas": 1, "selector": { "matchLabels": { "a": "b" } }, "template": template });
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    probe.make(deployments, json!({ "metadata": { "name": "d" }, "spec": spec })).await;
    let reviews = serve(&probe.server, "seen", json!({ "warnings": ["careful"] }));
    let rules = json!([{ "operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/*"] }]);
    configure(&probe, "validating", &[webhook("seen", json!({ "rules": rules }))]).await;

    probe.patch(&format!("{deployments}/d/scale"), json!({ "spec": { "replicas": 3 } })).await;
    let [scaled] = requests(&reviews).try_into().unwrap();
    assert_eq!(scaled["kind"], json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" }));
    assert_eq!((&scaled["subResource"], &scaled["name"]), (&json!("scale"), &json!("d")));
    assert_eq!(
        (&scaled["object"]["spec"]["replicas"], &scaled["oldObject"]["spec"]["replicas"]),
        (&json!(3), &json!(1))
    );

    let status = json!({ "status": { "replicas": 2 } });
    let body = Body::from(status.to_string().into_bytes());
    let path = format!("{deployments}/d/status?dryRun=All&fieldManager=me");
    let request =
        Request::patch(path).header("content-type", "application/merge-patch+json").body(body).unwrap();
    let answered = probe.send(request).await;
    assert_eq!(answered.status(), 200);
    assert_eq!(answered.headers()["warning"], r#"299 - "careful""#);
    let [updated] = requests(&reviews).try_into().unwrap();
    assert_eq!((&updated["subResource"], &updated["dryRun"]), (&json!("status"), &json!(true)));
    assert_eq!(
        (&updated["options"]["dryRun"], &updated["options"]["fieldManager"]),
        (&json!(["All"]), &json!("me"))
    );
}

#[tokio::test]
async fn a_webhook_is_called_again_if_a_later_one_changes_the_object() {
    for (policy, calls) in [("Never", 1), ("IfNeeded", 2)] {
        let probe = Probe::new();
        let first = serve(&probe.server, "first", json!({}));
        let change = patch(&json!([{ "op": "add", "path": "/data", "value": { "k": "v" } }]));
        let second = serve(&probe.server, "second", change);
        let again = json!({ "reinvocationPolicy": policy });
        configure(&probe, "mutating", &[webhook("first", again.clone()), webhook("second", again)]).await;
        probe.make(MAPS, named("a")).await;
        assert_eq!((requests(&first).len(), requests(&second).len()), (calls, 1), "{policy}");
    }
}

#[tokio::test]
async fn a_namespace_that_is_deleted_during_a_review_gets_no_objects() {
    let probe = Probe::new();
    probe.make("/api/v1/namespaces", named("short-lived")).await;
    let client = probe.client.clone();
    probe.server.serve_webhook("ops", "hook", "delete", move |review: Value| {
        let client = client.clone();
        async move {
            let request = Request::delete("/api/v1/namespaces/short-lived").body(Body::empty()).unwrap();
            assert_eq!(client.send(request).await.unwrap().status(), 200);
            response(&review, json!({}))
        }
    });
    configure(&probe, "validating", &[webhook("delete", json!({}))]).await;
    let answer = probe.post("/api/v1/namespaces/short-lived/configmaps", named("a")).await;
    assert_eq!(refusal(&answer), (404, "NotFound"));
    assert_eq!(probe.get("/api/v1/configmaps").await.1["items"], json!([]));
}

#[tokio::test]
async fn a_webhook_of_the_older_version_is_called() {
    let probe = Probe::new();
    let operations = json!([{ "op": "add", "path": "/data", "value": { "k": "v" } }]);
    let patch = BASE64_STANDARD.encode(operations.to_string());
    probe.server.serve_webhook("ops", "hook", "old", move |review: Value| {
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1beta1");
        let response = json!({ "allowed": true, "patch": patch });
        async move {
            json!({ "apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": response })
        }
    });
    configure(
        &probe,
        "mutating",
        &[webhook("old", json!({ "admissionReviewVersions": ["v2", "v1beta1", "v1"] }))],
    )
    .await;
    assert_eq!(probe.make(MAPS, named("a")).await["data"]["k"], "v");
}

/// Other errors are compared with kube-apiserver by the conformance tests.
#[tokio::test]
async fn rules_with_unknown_operations_are_refused() {
    let rule =
        json!({ "operations": ["READ"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] });
    let probe = Probe::new();
    let path = format!("{CONFIGURATIONS}/validatingwebhookconfigurations");
    let webhooks = [webhook("a", json!({ "rules": [rule] }))];
    let answer = probe.post(&path, json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks })).await;
    assert_eq!(refusal(&answer), (422, "Invalid"));
    let expected = "webhooks[0].rules[0].operations[0]: Unsupported value: \"READ\"";
    assert!(message(&answer).contains(expected), "{}", message(&answer));
}

/// Starts a webhook with TLS that denies everything, and returns its address and its certificate.
async fn https_webhook() -> (u16, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let respond = |request: Request<Incoming>| async move {
                assert_eq!((request.method(), request.uri().path()), (&Method::POST, "/validate"));
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let review = serde_json::from_slice(&body).unwrap();
                let answer = response(&review, denial("over HTTPS")).to_string();
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(answer))))
            };
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond)));
        }
    });
    (port, BASE64_STANDARD.encode(certificate.pem()))
}

#[tokio::test]
async fn a_webhook_at_a_url_is_called_over_https() {
    let (port, certificate) = https_webhook().await;
    let (_, other) = https_webhook().await;
    for (port, certificate, expected) in [
        (port, certificate.clone(), "denied the request: over HTTPS"),
        (port, other, "tls: invalid peer certificate"),
        (port, "bm90IGEgY2VydGlmaWNhdGU=".to_owned(), "tls: invalid peer certificate"),
        (1, certificate, "cannot connect to localhost:1"),
    ] {
        let probe = Probe::new();
        let client = json!({ "url": format!("https://localhost:{port}/validate"), "caBundle": certificate });
        configure(&probe, "validating", &[webhook("deny", json!({ "clientConfig": client }))]).await;
        let answer = probe.post(MAPS, named("a")).await;
        assert!(message(&answer).contains(expected), "{answer:?}");
    }
}
