//! Deletions without controllers.

use crate::maps::{Maps, ask};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_conformance::{Server, claims};
use serde_json::{Value, json};

claims! {
    shared: [
        a_deletion_policy_adds_a_finalizer_that_remains_without_controllers,
        a_namespace_is_deleted_when_it_is_finalized,
    ],
    alone: [],
}

async fn a_deletion_policy_adds_a_finalizer_that_remains_without_controllers(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let folder = format!("/api/v1/namespaces/{}/configmaps", maps.namespace);
    for (policy, finalizers) in [("Foreground", json!(["foregroundDeletion"])), ("Orphan", json!(["orphan"]))]
    {
        let name = policy.to_lowercase();
        maps.create(&name).await;
        let path = format!("{folder}/{name}");
        let options = json!({ "propagationPolicy": policy });
        let marked = ask(&maps.client, Request::delete(&path), options).await;
        assert_eq!(marked["metadata"]["finalizers"], finalizers, "{marked}");
        assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
        assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
        let again = ask(&maps.client, Request::delete(&path), Value::Null).await;
        assert_eq!(again["metadata"]["resourceVersion"], marked["metadata"]["resourceVersion"], "{again}");
        let background = json!({ "propagationPolicy": "Background" });
        let gone = ask(&maps.client, Request::delete(&path), background).await;
        assert_eq!(gone["status"], "Success", "{gone}");
    }
    let wrong =
        ask(&maps.client, Request::delete(format!("{folder}/a")), json!({ "propagationPolicy": "No" })).await;
    assert_eq!(wrong["code"], 422, "{wrong}");
}

async fn a_namespace_is_deleted_when_it_is_finalized(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    maps.create("a").await;
    let path = format!("/api/v1/namespaces/{}", maps.namespace);
    let mut found = ask(&maps.client, Request::delete(&path), Value::Null).await;
    assert_eq!(found["status"]["phase"], "Terminating", "{found}");
    maps.api.get("a").await.unwrap();
    found["spec"]["finalizers"] = json!([]);
    let finalized = ask(&maps.client, Request::put(format!("{path}/finalize")), found).await;
    assert_eq!(finalized["kind"], "Namespace", "{finalized}");
    let gone = ask(&maps.client, Request::get(&path), Value::Null).await;
    assert_eq!(gone["code"], 404, "{gone}");
}
