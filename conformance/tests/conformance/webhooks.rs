//! Admission webhooks over HTTPS.

use crate::https::Webhook;
use crate::maps::{Maps, ask};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_conformance::{Server, claims, eventually};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

claims! {
    shared: [
        a_mutating_webhook_changes_what_is_stored,
        a_validating_webhook_denies_changes,
        a_webhook_that_cannot_be_called_fails_the_request,
        invalid_webhook_configurations_are_refused,
    ],
    alone: [],
}

/// A webhook in this process, and its configuration for one namespace of a server.
struct Hook {
    maps: Maps<ConfigMap>,
    configuration: String,
    reviews: Arc<Mutex<Vec<Value>>>,
    webhook: Webhook,
}

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

impl Hook {
    /// Starts a webhook that responds with these fields, and waits until the server calls it.
    async fn start(server: &Server, stage: &str, fields: Value) -> Self {
        let reviews = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&reviews);
        let webhook = Webhook::start(move |review| {
            let mut response = fields.clone();
            response["uid"] = review["request"]["uid"].clone();
            received.lock().unwrap().push(review);
            json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
        })
        .await;
        let maps = Maps::<ConfigMap>::new(server).await;
        let configuration = format!("{GROUP}/{stage}webhookconfigurations/{}", maps.namespace);
        let client = webhook.client_config.clone();
        let hook = Self { maps, configuration, reviews, webhook };
        hook.configure(client).await;
        hook
    }

    /// Creates the configuration, and waits until it has an effect.
    async fn configure(&self, client: Value) {
        let webhook = webhook(&json!({
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": self.maps.namespace } },
            "clientConfig": client,
        }));
        let object = json!({ "metadata": { "name": self.maps.namespace }, "webhooks": [webhook] });
        let (path, _) = self.configuration.rsplit_once('/').unwrap();
        let made = ask(&self.maps.client, Request::post(path), object).await;
        assert_eq!(made["webhooks"][0]["timeoutSeconds"], 10, "{made}");
        eventually("the webhook is called", async || {
            let probe = json!({ "metadata": { "name": "probe" } });
            let answer = self.send(Request::post(self.path("?dryRun=All")), probe).await;
            if self.reviews.lock().unwrap().is_empty() { Err(answer.to_string()) } else { Ok(()) }
        })
        .await;
        self.reviews.lock().unwrap().clear();
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps{rest}", self.maps.namespace)
    }

    async fn send(&self, request: http::request::Builder, body: Value) -> Value {
        ask(&self.maps.client, request, body).await
    }

    fn requests(&self) -> Vec<Value> {
        let reviews = std::mem::take(&mut *self.reviews.lock().unwrap());
        reviews.into_iter().map(|mut review| review["request"].take()).collect()
    }

    async fn stop(self) {
        self.send(Request::delete(&self.configuration), Value::Null).await;
        self.webhook.stop();
    }
}

fn webhook(fields: &Value) -> Value {
    let mut webhook = json!({
        "name": "maps.conformance.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
    });
    webhook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    webhook
}

/// Removes what differs between two requests: the uid, the user and times.
fn normalized(mut request: Value) -> Value {
    for field in ["uid", "userInfo"] {
        request.as_object_mut().unwrap().remove(field);
    }
    for metadata in ["/object/metadata", "/oldObject/metadata"] {
        let Some(metadata) = request.pointer_mut(metadata).and_then(Value::as_object_mut) else { continue };
        for field in ["uid", "creationTimestamp", "resourceVersion"] {
            if let Some(value) = metadata.get_mut(field) {
                *value = "present".into();
            }
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry["time"] = "present".into();
        }
    }
    request
}

async fn a_mutating_webhook_changes_what_is_stored(server: &Server) {
    let operations = json!([{ "op": "add", "path": "/metadata/labels", "value": { "team": "web" } }]);
    let patch = BASE64_STANDARD.encode(operations.to_string());
    let fields = json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch });
    let hook = Hook::start(server, "mutating", fields).await;
    let created = hook
        .send(
            Request::post(hook.path("?fieldManager=me")),
            json!({ "metadata": { "name": "a" }, "data": { "k": "v" } }),
        )
        .await;
    assert_eq!(created["metadata"]["labels"], json!({ "team": "web" }), "{created}");
    let managed = |object: &Value| {
        let entries = object["metadata"]["managedFields"].as_array().unwrap().clone();
        entries
            .into_iter()
            .map(|entry| (entry["manager"].clone(), entry["fieldsV1"].clone()))
            .collect::<Vec<_>>()
    };
    let expected = json!({ "f:data": { ".": {}, "f:k": {} } });
    assert_eq!(managed(&created), [(json!("me"), expected)], "{created}");
    let [request] = hook.requests().try_into().unwrap();
    let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
    let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
    let entry = json!({
        "manager": "me", "operation": "Update", "apiVersion": "v1", "time": "present", "fieldsType": "FieldsV1",
        "fieldsV1": { "f:data": { ".": {}, "f:k": {} } },
    });
    let object = json!({
        "kind": "ConfigMap", "apiVersion": "v1", "data": { "k": "v" },
        "metadata": { "name": "a", "namespace": hook.maps.namespace, "managedFields": [entry] },
    });
    let expected = json!({
        "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": "a", "namespace": hook.maps.namespace, "operation": "CREATE", "object": object, "oldObject": null,
        "dryRun": false,
        "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me" },
    });
    assert_eq!(normalized(request), expected);

    let path = hook.path("/a?fieldManager=you");
    let merge = Request::patch(&path).header("content-type", "application/merge-patch+json");
    let patched = hook.send(merge, json!({ "metadata": { "labels": null }, "data": { "l": "w" } })).await;
    assert_eq!(patched["metadata"]["labels"], json!({ "team": "web" }), "{patched}");
    let [request] = hook.requests().try_into().unwrap();
    let request = normalized(request);
    assert_eq!(
        (&request["operation"], &request["options"]["kind"]),
        (&json!("UPDATE"), &json!("UpdateOptions"))
    );
    assert_eq!(request["object"]["metadata"].get("labels"), None);
    assert_eq!(request["oldObject"]["metadata"]["labels"], json!({ "team": "web" }));
    assert_eq!(request["oldObject"]["metadata"]["uid"], "present");
    hook.stop().await;
}

async fn a_validating_webhook_denies_changes(server: &Server) {
    let fields = json!({ "allowed": false, "status": { "message": "not on Fridays" } });
    let hook = Hook::start(server, "validating", fields).await;
    let denied = hook.send(Request::post(hook.path("")), json!({ "metadata": { "name": "a" } })).await;
    let message = r#"admission webhook "maps.conformance.example.com" denied the request: not on Fridays"#;
    assert_eq!((&denied["message"], &denied["code"]), (&json!(message), &json!(400)), "{denied}");
    assert_eq!(denied["reason"].as_str().unwrap_or_default(), "", "{denied}");
    let generated = json!({ "metadata": { "generateName": "a-" } });
    hook.send(Request::post(hook.path("?dryRun=All")), generated).await;
    let [created, generated] = hook.requests().try_into().unwrap();
    let created = normalized(created);
    assert_eq!(created["object"]["metadata"]["uid"], "present", "the object is complete");
    assert_eq!(created["object"]["metadata"]["creationTimestamp"], "present");
    assert_eq!((&created["dryRun"], &generated["dryRun"]), (&json!(false), &json!(true)));
    assert_eq!(generated["options"]["dryRun"], json!(["All"]));
    let name = generated["object"]["metadata"]["name"].as_str().unwrap_or_default();
    assert_eq!(generated["name"], name, "{generated}");
    assert!(name.starts_with("a-") && name.len() == 7, "{name}");
    hook.stop().await;
}

async fn a_webhook_that_cannot_be_called_fails_the_request(server: &Server) {
    let hook = Hook::start(server, "validating", json!({ "allowed": true })).await;
    let made = hook.send(Request::post(hook.path("")), json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(made["metadata"]["name"], "a", "{made}");
    assert_eq!(normalized(hook.requests().remove(0))["operation"], "CREATE");
    let wrong = json!({ "webhooks": [webhook(&json!({
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": hook.maps.namespace } },
        "clientConfig": { "url": "https://127.0.0.1:1/hook", "caBundle": null },
    }))] });
    let merge = Request::patch(&hook.configuration).header("content-type", "application/merge-patch+json");
    hook.send(merge, wrong).await;
    let path = hook.path("/a");
    eventually("the new configuration has an effect", async || {
        let failed = hook.send(Request::delete(&path), Value::Null).await;
        let message = failed["message"].as_str().unwrap_or_default();
        let start = "Internal error occurred: failed calling webhook \"maps.conformance.example.com\": failed to call webhook: \
                     Post \"https://127.0.0.1:1/hook?timeout=10s\": ";
        let is_expected = failed["code"] == 500 && failed["reason"] == "InternalError" && message.starts_with(start);
        let cause = failed["details"]["causes"][0]["message"].as_str();
        let is_expected = is_expected && cause == message.strip_prefix("Internal error occurred: ");
        if is_expected { Ok(()) } else { Err(failed.to_string()) }
    })
    .await;
    hook.stop().await;
}

async fn invalid_webhook_configurations_are_refused(server: &Server) {
    let client = server.client();
    let valid = json!({ "url": "https://127.0.0.1:1/hook" });
    for (fields, expected) in [
        (
            json!({ "name": "short" }),
            "webhooks[0].name: Invalid value: \"short\": should be a domain with at least three segments separated by dots",
        ),
        (
            json!({ "sideEffects": null }),
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
        ),
        (
            json!({ "sideEffects": "Some" }),
            "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (
            json!({ "admissionReviewVersions": [] }),
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            json!({ "timeoutSeconds": 31 }),
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            json!({ "clientConfig": {} }),
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            json!({ "clientConfig": { "url": "http://a.example.com" } }),
            "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (
            json!({ "failurePolicy": "Maybe" }),
            "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        ),
    ] {
        let mut webhook = webhook(&json!({ "clientConfig": valid }));
        webhook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let object = json!({ "metadata": { "name": "invalid" }, "webhooks": [webhook] });
        let path = format!("{GROUP}/validatingwebhookconfigurations");
        let refused = ask(&client, Request::post(path), object).await;
        let message = format!(
            "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"invalid\" is invalid: {expected}"
        );
        assert_eq!((&refused["message"], &refused["code"]), (&json!(message), &json!(422)), "{fields}");
    }
}
