//! Objects as they are written and read, down to the JSON.

use crate::maps::{Maps, ask};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_conformance::{Server, claims};
use serde_json::{Value, json};

claims! {
    shared: [
        empty_metadata_fields_are_omitted,
        a_dry_run_returns_the_result_and_changes_nothing,
        errors_have_a_code_and_a_reason,
        an_empty_list_of_metadata_has_no_items_at_all,
        the_shard_selector_of_a_list_is_normalized,
        invalid_objects_are_refused_with_the_field,
        fields_that_cannot_change_are_refused_with_the_field,
    ],
    alone: [],
}

async fn empty_metadata_fields_are_omitted(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let empty = json!({ "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": [] });
    maps.create_with("bare", empty).await;
    let map = maps.api.get("bare").await.unwrap().metadata;
    assert_eq!((map.labels, map.annotations, map.finalizers, map.owner_references), (None, None, None, None));
    maps.label("bare", "colour", Some("red")).await;
    maps.label("bare", "colour", None).await;
    assert_eq!(maps.api.get("bare").await.unwrap().metadata.labels, None);
}

/// Returns the path of the config maps of a namespace, with a suffix.
fn path(maps: &Maps<ConfigMap>, rest: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps{rest}", maps.namespace)
}

async fn a_dry_run_returns_the_result_and_changes_nothing(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let create = http::Request::post(path(&maps, "?dryRun=All"));
    let made = ask(&maps.client, create, json!({ "metadata": { "name": "dry" } })).await;
    assert_eq!((&made["kind"], made["metadata"]["uid"].is_string()), (&json!("ConfigMap"), true));
    assert!(maps.api.get_opt("dry").await.unwrap().is_none());
    maps.create("wet").await;
    let deleted = ask(&maps.client, http::Request::delete(path(&maps, "/wet?dryRun=All")), Value::Null).await;
    assert_eq!((&deleted["kind"], &deleted["status"]), (&json!("Status"), &json!("Success")));
    assert!(maps.api.get_opt("wet").await.unwrap().is_some());
}

async fn errors_have_a_code_and_a_reason(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let at = |name: &str, version: &str| json!({ "metadata": { "name": name, "resourceVersion": version } });
    let cases = [
        (http::Request::post(path(&maps, "")), named("a"), 409, "AlreadyExists"),
        (http::Request::post(path(&maps, "")), named("A_b"), 422, "Invalid"),
        (http::Request::post(path(&maps, "")), json!({ "metadata": {} }), 422, "Invalid"),
        (http::Request::post(path(&maps, "")), at("b", "5"), 500, ""),
        (http::Request::put(path(&maps, "/a")), at("a", "1"), 409, "Conflict"),
        (http::Request::put(path(&maps, "/a")), named("b"), 400, "BadRequest"),
        (http::Request::put(path(&maps, "/z")), at("z", "1"), 404, "NotFound"),
        (http::Request::get(path(&maps, "/z")), Value::Null, 404, "NotFound"),
        (http::Request::delete(path(&maps, "/z")), Value::Null, 404, "NotFound"),
        (http::Request::get(path(&maps, "?continue=nonsense")), Value::Null, 400, "BadRequest"),
        (http::Request::get(path(&maps, "?fieldSelector=data.x%3D1")), Value::Null, 400, "BadRequest"),
        (http::Request::get(path(&maps, "?labelSelector=%3D%3D")), Value::Null, 400, "BadRequest"),
        (http::Request::get(path(&maps, "?limit=x")), Value::Null, 400, "BadRequest"),
        (http::Request::get(path(&maps, "?resourceVersion=x")), Value::Null, 400, "BadRequest"),
        (http::Request::get(path(&maps, "?resourceVersion=x&watch=true")), Value::Null, 500, ""),
    ];
    // Older servers ignore the parameter.
    let selector = (http::Request::get(path(&maps, "?shardSelector=x")), Value::Null, 500, "");
    let selector = (!server.is_older_than(36)).then_some(selector);
    for (request, body, code, reason) in cases.into_iter().chain(selector) {
        let case = format!("{request:?} {body}");
        let answer = ask(&maps.client, request, body).await;
        let is_right = answer["code"] == code && (reason.is_empty() || answer["reason"] == reason);
        assert!(is_right, "{case}: {answer}");
    }
}

async fn an_empty_list_of_metadata_has_no_items_at_all(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = http::Request::get(path(&maps, "")).header("accept", accept);
    let list = ask(&maps.client, list, Value::Null).await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list.get("items"), Some(&Value::Null));
}

async fn the_shard_selector_of_a_list_is_normalized(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let selector = "shardRange(object.metadata.uid,%20%270x0000000000000000%27,%270x8000000000000000%27)";
    let list = http::Request::get(path(&maps, &format!("?shardSelector={selector}")));
    let list = ask(&maps.client, list, Value::Null).await;
    let told = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
    let told = if server.is_older_than(36) { Value::Null } else { told.into() };
    assert_eq!(list["metadata"]["shardInfo"]["selector"], told);
}

/// Returns the fields and reasons of the causes of an error.
fn causes(status: &Value) -> Vec<(&str, &str)> {
    let causes = status["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    causes.iter().map(|cause| (cause["field"].as_str().unwrap(), cause["reason"].as_str().unwrap())).collect()
}

async fn invalid_objects_are_refused_with_the_field(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let container = json!({ "name": "main", "image": "none" });
    let template =
        |labels: Value| json!({ "metadata": { "labels": labels }, "spec": { "containers": [container] } });
    let selector = json!({ "matchLabels": { "app": "a" } });
    let namespace = &maps.namespace;
    let cases = [
        (
            format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
            json!({ "selector": selector, "template": template(json!({ "app": "b" })) }),
            vec![("spec.template.metadata.labels", "FieldValueInvalid")],
        ),
        (
            format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
            json!({ "selector": selector, "template": template(json!({ "app": "a" })), "replicas": -1 }),
            vec![("spec.replicas", "FieldValueInvalid")],
        ),
        (
            format!("/api/v1/namespaces/{namespace}/services"),
            json!({ "ports": [{ "port": 80 }, { "port": 70000, "name": "b" }] }),
            vec![
                ("spec.ports[0].name", "FieldValueRequired"),
                ("spec.ports[1].port", "FieldValueInvalid"),
                ("spec.ports[1].targetPort", "FieldValueInvalid"),
            ],
        ),
        (
            format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/ingresses"),
            json!({}),
            vec![("spec", "FieldValueInvalid")],
        ),
        (
            format!("/apis/batch/v1/namespaces/{namespace}/jobs"),
            json!({ "template": { "spec": { "containers": [container] } } }),
            vec![("spec.template.spec.restartPolicy", "FieldValueRequired")],
        ),
    ];
    for (path, spec, expected) in cases {
        let body = json!({ "metadata": { "name": "a" }, "spec": spec });
        let status = ask(&maps.client, http::Request::post(&path), body).await;
        assert_eq!((&status["code"], causes(&status)), (&json!(422), expected), "{path}: {status}");
    }
}

async fn fields_that_cannot_change_are_refused_with_the_field(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let path = format!("/apis/apps/v1/namespaces/{}/deployments", maps.namespace);
    let labels = json!({ "app": "a", "tier": "front" });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "main", "image": "none" }] } });
    let spec = json!({ "replicas": 0, "selector": { "matchLabels": { "app": "a" } }, "template": template });
    let body = json!({ "metadata": { "name": "a" }, "spec": spec });
    let mut made = ask(&maps.client, http::Request::post(&path), body).await;
    assert_eq!(made["kind"], "Deployment", "{made}");
    made["spec"]["selector"] = json!({ "matchLabels": { "tier": "front" } });
    if let Some(metadata) = made["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    let status = ask(&maps.client, http::Request::put(format!("{path}/a")), made).await;
    assert_eq!(causes(&status), [("spec.selector", "FieldValueInvalid")], "{status}");
}
